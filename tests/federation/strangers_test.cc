// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What strangers and members on the way to a link may take from a node: places for links, and
// dials.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "federation/membership/member_record.h"
#include "federation/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Strangers : public testing::Test {
 protected:
  CoreUnderTest target_;
};

TEST_F(Strangers, SilentOpeningTimesOut) {
  target_.core().OnLinkOpened(7, "", target_.now());
  target_.Advance(limits::kHandshakeTimeout + std::chrono::milliseconds(1));
  Answers answers;
  answers.Add(target_.core().OnTick(target_.now()));
  EXPECT_EQ(answers.closed, reasons::kDeadlineExceeded);
}

// Found by a hostile review: 33 silent streams a second closed the idle links of members and kept
// others out.
TEST_F(Strangers, HalfOpenLinksDisplaceNoMember) {
  std::vector<std::unique_ptr<TestPeer>> members;
  for (size_t i = 1; i <= limits::kMaxLinks; ++i) {
    members.push_back(std::make_unique<TestPeer>(target_, i, static_cast<federation::LinkId>(i)));
    ASSERT_EQ(members.back()->Dial().closed, "") << i;
  }
  Answers answers;
  for (federation::LinkId link = 1000; link < 1200; ++link) {
    answers.Add(target_.core().OnLinkOpened(link, "", target_.now()));
  }
  EXPECT_EQ(target_.core().active_links(), limits::kMaxLinks);
  EXPECT_EQ(answers.closed, reasons::kLimitExceeded) << "the oldest of the strangers";
  const LimitUse half_open = target_.Limit("half_open_links");
  EXPECT_EQ(half_open.used, limits::kMaxHalfOpenLinks);
  EXPECT_EQ(half_open.refused, 200 - limits::kMaxHalfOpenLinks);
  EXPECT_EQ(target_.Limit("links").used, limits::kMaxLinks);

  // One more member gets the place of an idle one, as before.
  TestPeer late(target_, limits::kMaxLinks + 1, 2000);
  EXPECT_EQ(late.Dial().closed, reasons::kLinkIdle);
  EXPECT_EQ(target_.core().active_links(), limits::kMaxLinks);
}

// Found by review: strangers that opened links all the time displaced an honest opening before its
// answer could come.
TEST_F(Strangers, ChurnOfOneSourceDisplacesNoOpeningOfAnother) {
  TestPeer member(target_, 1, 7);
  target_.core().OnLinkOpened(7, "", target_.now(), {.source = {1}});
  Answers answers;
  answers.Add(target_.core().OnFrame(7, member.Hello(), target_.now()));
  for (federation::LinkId link = 1000; link < 1200; ++link) {
    for (const federation::Action& action :
         target_.core().OnLinkOpened(link, "", target_.now(), {.source = {2}})) {
      if (const auto* close = std::get_if<federation::CloseLink>(&action)) {
        EXPECT_NE(close->link, 7u);
      }
    }
  }
  EXPECT_EQ(member.Finish(answers).closed, "");
  EXPECT_EQ(target_.core().active_links(), 1U);
}

TEST_F(Strangers, AMemberIsIdentifiedAndAStrangerIsNot) {
  TestPeer member(target_, 1, 7);
  EXPECT_THAT(member.Dial().identified, ElementsAre(7));
  TestPeer stranger(target_, 2, 8, [](federation::LocalNode& n) {
    n.certificate = CertificateFor(*n.key, "outsider", Authority(2000));
  });
  EXPECT_THAT(stranger.Dial().identified, IsEmpty());
}

// Found by a hostile review: a machine on the way that sent a node's Hello back to it made the node
// take the dialled address for its own.
TEST_F(Strangers, AHelloThatIsSentBackMakesNoAddressTheOwnOne) {
  const Digest own = Sha256("own certificate");
  const Digest theirs = Sha256("certificate of a machine on the way");
  // Returns whether the node dials the seed again after its Hello came back.
  const auto dials_again = [&](const Digest& seen) {
    CoreUnderTest target(0, [](federation::GossipConfig& config) { config.seeds = {"seed:7000"}; });
    Answers answers;
    answers.Add(target.core().OnLinkOpened(1, "seed:7000", target.now(),
                                           {.peer_certificate = seen, .own_certificates = {own}}));
    const WireFrame hello = *answers.Find(WireFrame::kHello);
    answers.Add(target.core().OnLinkOpened(2, "", target.now(),
                                           {.peer_certificate = own, .own_certificates = {own}}));
    answers.Add(target.core().OnFrame(2, hello, target.now()));
    answers.Add(target.core().OnLinkClosed(1, target.now()));
    for (int second = 0; second < 30; ++second) {
      target.Advance(std::chrono::seconds(1));
      answers.Add(target.core().OnTick(target.now()));
    }
    return !answers.dials.empty();
  };
  EXPECT_FALSE(dials_again(own)) << "the address is the node's own";
  EXPECT_TRUE(dials_again(theirs));
}

// A member must not make others knock at the ports of their own machines, or ask a resolver of its
// choice.
TEST_F(Strangers, AnAddressThatLeadsElsewhereIsNotDialled) {
  for (const char* address : {"unix:/run/a:1", "dns://resolver/b:1", "ipv4:10.0.0.1:1", "x y:1"}) {
    EXPECT_FALSE(federation::IsValidAddress(address)) << address;
  }
  for (const char* address :
       {"127.0.0.1:22", "localhost:22", "[::1]:22", "0.0.0.0:22", "[::ffff:127.0.0.1]:22",
        "169.254.169.254:80", "224.0.0.1:1", "node-9:22"}) {
    CoreUnderTest target(0);
    TestPeer peer(target, 1, 7);
    Answers answers = peer.Dial();
    federation::MemberRecord record;
    record.certificate = peer.local().certificate;
    record.incarnation = (1ULL << 32) | 1;
    record.model_hash = peer.local().model_hash;
    record.frame_id = peer.local().frame_id;
    record.address = address;
    const int64_t now_ms = target.now().wall_ms;
    WireFrame frame;
    *frame.mutable_member_delta()->add_records() = federation::ToProto(
        *peer.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 0,
                            EncodeMemberRecord(record), now_ms, now_ms + 600'000));
    answers.Add(target.core().OnFrame(7, frame, target.now()));
    answers.Add(target.core().OnLinkClosed(7, target.now()));
    for (int second = 0; second < 60; ++second) {
      target.Advance(std::chrono::seconds(1));
      answers.Add(target.core().OnTick(target.now()));
    }
    EXPECT_EQ(!answers.dials.empty(), std::string(address) == "node-9:22") << address;
  }
}

}  // namespace
}  // namespace ruvd::test
