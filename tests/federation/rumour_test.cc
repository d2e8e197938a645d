// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A node hears that a member is suspected which is not its neighbour.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/limits.h"
#include "federation/membership/member_record.h"
#include "federation/membership/suspicion.h"
#include "federation/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;

constexpr uint64_t kSuspect = 5;

// A core and its only neighbour, which answers pings and knows nothing about the suspect.
class Rumour {
 public:
  // The suspect announces `address`.
  explicit Rumour(std::string address) : address_(std::move(address)) {
    EXPECT_EQ(peer_.Dial().closed, "");
    Tell(RecordOfBoot(1));
  }
  // The suspect's record as of its start of this number.
  federation::RecordPtr RecordOfBoot(uint64_t boot) const {
    federation::GossipConfig config = ConfigFor(suspect_, kSuspect);
    config.listen_address = address_;
    config.boot_counter = boot;
    return (*federation::GossipCore::Create(std::move(config), suspect_, EntropyOf(boot), boot,
                                            target_.now()))
        ->OwnRecord();
  }
  void Tell(const federation::RecordPtr& record) {
    WireFrame delta;
    *delta.mutable_member_delta()->add_records() = federation::ToProto(record->envelope);
    EXPECT_THAT(peer_.Send(delta).refused, IsEmpty());
  }
  // `padding` is the number of bytes that do not belong to the header.
  void Accuse(size_t padding = 0) {
    const federation::Accusation accusation{.certificate = peer_.local().certificate,
                                            .suspect = suspect_.id(),
                                            .incarnation = RecordOfBoot(1)->record.incarnation};
    const int64_t now_ms = target_.now().wall_ms;
    WireFrame frame;
    *frame.mutable_suspicions()->add_accusations() = federation::ToProto(
        *peer_.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodySuspicion, 0,
                             federation::EncodeAccusation(accusation), now_ms, now_ms + 60'000));
    frame.mutable_suspicions()->mutable_accusations(0)->mutable_header()->append(padding, 'x');
    peer_.Send(frame);
  }
  void RevokeAccuser() {
    const auto list =
        privacy::RevokeNodes({}, {peer_.key().id()}, target_.now().wall_ms,
                             privacy::ClusterAuthority::FromSeed(SeedOf(1000)));  // of Authority()
    ASSERT_TRUE(target_.core().SetRevocations(*list, target_.now()).ok());
  }
  uint64_t Refused(const std::string& reason) { return target_.Refused(reason); }
  // Sends records of the neighbour until the core checks no more of its signatures.
  void UseUpChecks() {
    federation::MemberRecord record;
    record.certificate = peer_.local().certificate;
    const int64_t now_ms = target_.now().wall_ms;
    while (target_.Refused(reasons::kBusy) == 0) {
      WireFrame frame;
      for (size_t i = 0; i < limits::kMaxRecordsPerFrame; ++i) {
        ++record.incarnation;
        *frame.mutable_member_delta()->add_records() = federation::ToProto(*peer_.sealer().Seal(
            privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 0,
            federation::EncodeMemberRecord(record), now_ms, now_ms + 60'000));
      }
      peer_.Send(frame);
    }
  }
  federation::MemberState StateOfSuspect() {
    const std::vector<federation::Member> members = target_.core().Members();
    return std::ranges::find(members, suspect_.id(), &federation::Member::id)->state;
  }
  double ScoreOfPeer() { return target_.core().ScoreOf(peer_.key().id()); }
  void Run(Duration duration) {
    for (Duration passed{}; passed < duration; passed += milliseconds(250)) {
      target_.Advance(milliseconds(250));
      Answers answers;
      answers.Add(target_.core().OnTick(target_.now()));
      for (const WireFrame& frame : answers.frames) {
        asked_ += frame.has_ping_request() ? 1 : 0;
        if (frame.has_ping()) {
          WireFrame ack;
          ack.mutable_ack()->set_seq(frame.ping().seq());
          peer_.Send(ack);
        }
      }
    }
  }
  // Lets time pass without any action of the core.
  void Pass(Duration duration) { target_.Advance(duration); }
  // Returns how often the neighbour was asked to look for a member.
  size_t asked() const { return asked_; }
  // Returns how many members the core itself suspected.
  uint64_t accused() { return target_.core().counters().suspicions; }

 private:
  std::string address_;
  privacy::NodeKey suspect_ = privacy::NodeKey::FromSeed(SeedOf(kSuspect));
  CoreUnderTest target_;
  TestPeer peer_{target_, 1, 7};
  size_t asked_ = 0;
};

// Regression test: some nodes check for themselves whether a suspect lives. A node that could not
// dial it anyway took that for silence, so each suspicion of a member behind a firewall caused the
// next one.
TEST(RumourTest, WhoCannotDialASuspectDoesNotSuspectItForThat) {
  for (const std::string address : {"node-5:7000", ""}) {
    Rumour rumour(address);
    rumour.Accuse();
    rumour.Run(limits::kPingTimeout);
    EXPECT_EQ(rumour.asked() > 0, !address.empty());
  }
}

// Found by `world --nodes 100 --seeds 1..1 --undialable 0.34`: a node whose dial to the suspect
// hung for longer than the check waits suspected the newer record as well, and so each refutation
// caused the next suspicion.
TEST(RumourTest, WhoHearsTheSuspectRefuteStopsLookingForIt) {
  Rumour rumour("node-5:7000");
  rumour.Accuse();
  rumour.Run(milliseconds(500));
  rumour.Tell(rumour.RecordOfBoot(2));
  rumour.Run(2 * limits::kPingTimeout);
  EXPECT_EQ(rumour.accused(), 0U);
}

// Regression test: an accusation that came while the signature budget of its sender was spent had
// no effect until another link opened.
TEST(RumourTest, AnAccusationThatThereWasNoTimeForIsCheckedLater) {
  Rumour rumour("node-5:7000");
  rumour.UseUpChecks();
  rumour.Accuse();
  EXPECT_EQ(rumour.StateOfSuspect(), federation::MemberState::kAlive);
  rumour.Run(milliseconds(500));
  EXPECT_EQ(rumour.StateOfSuspect(), federation::MemberState::kSuspect);
  EXPECT_EQ(rumour.ScoreOfPeer(), 0);
}

// Found by `world --nodes 20 --seeds 35..35`: a suspect refuses the accusation of a revoked member,
// so it never refuted what others had believed before the revocation.
TEST(RumourTest, WhatARevokedMemberSaidOfOthersCountsNoMore) {
  for (const bool dead : {false, true}) {
    Rumour rumour("");
    rumour.Accuse();
    if (dead) {
      rumour.Run(std::chrono::minutes(1));
    }
    EXPECT_EQ(rumour.StateOfSuspect(),
              dead ? federation::MemberState::kDead : federation::MemberState::kSuspect);
    rumour.RevokeAccuser();
    EXPECT_EQ(rumour.StateOfSuspect(), federation::MemberState::kAlive);
  }
}

// Regression test: a waiting accusation could have any length, since only its body had been
// checked.
TEST(RumourTest, AnAccusationThatIsTooLongDoesNotWait) {
  Rumour rumour("node-5:7000");
  rumour.UseUpChecks();
  const uint64_t busy = rumour.Refused(reasons::kBusy);
  rumour.Accuse(/*padding=*/100'000);
  EXPECT_EQ(rumour.Refused(reasons::kLimitExceeded), 1U);
  EXPECT_EQ(rumour.Refused(reasons::kBusy), busy);
}

TEST(RumourTest, AnAccusationThatWasRefutedWhileItWaitedHasNoEffect) {
  Rumour rumour("node-5:7000");
  rumour.UseUpChecks();
  rumour.Accuse();
  rumour.Pass(milliseconds(200));
  rumour.Tell(rumour.RecordOfBoot(2));
  rumour.Run(milliseconds(500));
  EXPECT_EQ(rumour.StateOfSuspect(), federation::MemberState::kAlive);
}

}  // namespace
}  // namespace ruvd::test
