// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of membership: records as a CRDT, suspicion, failure detection.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/failure_detector.h"
#include "federation/membership/member_table.h"
#include "federation/membership/record_set.h"
#include "federation/membership/suspicion.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

federation::RecordPtr RecordOf(uint8_t node, uint64_t incarnation, uint8_t version = 0,
                               federation::MemberState state = federation::MemberState::kAlive) {
  auto record = std::make_shared<federation::SignedRecord>();
  record->record.certificate.node_id = Sha256(std::string(1, static_cast<char>(node)));
  record->record.incarnation = incarnation;
  record->record.state = state;
  record->id = Sha256(ByteWriter().Write(node).Write(incarnation).Write(version).str());
  return record;
}

// ---- Records

// Records may come in any order, any number of times, and over any base: the result is the same
// set, whose sums are those of a set made at once.
RC_GTEST_PROP(RecordSet, MergesToTheSameInAnyOrder, ()) {
  const auto draws = *rc::gen::container<std::vector<std::tuple<uint8_t, uint8_t, uint8_t>>>(
      rc::gen::tuple(rc::gen::inRange<uint8_t>(0, 200), rc::gen::inRange<uint8_t>(1, 4),
                     rc::gen::inRange<uint8_t>(0, 2)));
  std::vector<federation::RecordPtr> records;
  for (const auto& [node, incarnation, version] : draws) {
    records.push_back(RecordOf(node, incarnation, version));
  }
  const size_t split = *rc::gen::inRange<size_t>(0, records.size() + 1);
  const auto middle = records.begin() + static_cast<std::ptrdiff_t>(split);
  federation::RecordSet over_base;
  over_base.SetBase(std::make_shared<const federation::RecordBase>(
                        std::vector<federation::RecordPtr>(records.begin(), middle)),
                    TimePoint{});
  std::for_each(middle, records.end(),
                [&](const federation::RecordPtr& r) { over_base.Put(r, TimePoint{}); });
  Random random(draws.size());
  random.Shuffle(std::span<federation::RecordPtr>(records));
  federation::RecordSet shuffled;
  for (const federation::RecordPtr& record : records) {
    shuffled.Put(record, TimePoint{});
    RC_ASSERT(!shuffled.Put(record, TimePoint{}));
  }
  const federation::RecordBase whole(records);
  RC_ASSERT(over_base.size() == whole.records().size());
  RC_ASSERT(shuffled.size() == whole.records().size());
  privacy::NodeId lower{};
  lower[0] = *rc::gen::arbitrary<uint8_t>();
  privacy::NodeId upper{};
  upper[0] = *rc::gen::arbitrary<uint8_t>();
  upper = std::max(lower, upper);
  federation::IdSum expected;
  for (const federation::RecordPtr& record : whole.records()) {
    if (record->node() >= lower && record->node() < upper) {
      expected.Add(record->id);
    }
  }
  RC_ASSERT(over_base.Sum(lower, upper) == expected);
  RC_ASSERT(shuffled.Sum(lower, upper) == expected);
  std::vector<Digest> ids;
  over_base.ForEach(lower, upper, [&](const federation::RecordPtr& record) {
    ids.push_back(record->id);
    return true;
  });
  RC_ASSERT(ids.size() == expected.count);
}

TEST(RecordSet, HigherIncarnationThenLeavingSupersedes) {
  EXPECT_TRUE(federation::Supersedes(*RecordOf(1, 2), *RecordOf(1, 1)));
  EXPECT_TRUE(
      federation::Supersedes(*RecordOf(1, 1, 0, federation::MemberState::kLeft), *RecordOf(1, 1)));
  EXPECT_FALSE(
      federation::Supersedes(*RecordOf(1, 1, 0, federation::MemberState::kLeft), *RecordOf(1, 2)));
  EXPECT_FALSE(federation::Supersedes(*RecordOf(1, 1), *RecordOf(1, 1)));
}

TEST(RecordSet, ErasedRecordsOfTheBaseAreGoneAndMayComeBack) {
  federation::RecordSet set;
  set.SetBase(
      std::make_shared<const federation::RecordBase>(std::vector{RecordOf(1, 1), RecordOf(2, 1)}),
      TimePoint{});
  set.Erase(RecordOf(1, 1)->node());
  EXPECT_EQ(set.size(), 1U);
  EXPECT_EQ(set.Find(RecordOf(1, 1)->node()), nullptr);
  EXPECT_EQ(set.Sum({}, std::nullopt).count, 1U);
  EXPECT_TRUE(set.Put(RecordOf(1, 1), TimePoint{}));
  EXPECT_EQ(set.size(), 2U);
}

TEST(RecordSet, SamplesEveryRecord) {
  federation::RecordSet set;
  Random random(1);
  EXPECT_EQ(set.Sample(random), nullptr);
  std::vector<federation::RecordPtr> base;
  for (uint8_t i = 0; i < 10; ++i) {
    base.push_back(RecordOf(i, 1));
  }
  set.SetBase(std::make_shared<const federation::RecordBase>(base), TimePoint{});
  set.Put(RecordOf(3, 2), TimePoint{});  // replaced
  set.Put(RecordOf(20, 1), TimePoint{});
  set.Erase(RecordOf(4, 1)->node());
  std::map<Digest, int> drawn;
  for (int i = 0; i < 2000; ++i) {
    ++drawn[(*set.Sample(random))->id];
  }
  EXPECT_EQ(drawn.size(), 10U);
  EXPECT_FALSE(drawn.contains(RecordOf(4, 1)->id));
  EXPECT_TRUE(drawn.contains(RecordOf(3, 2)->id));
  for (const auto& [id, count] : drawn) {
    EXPECT_GT(count, 120);  // of 200 expected
  }
}

// ---- Suspicion

// These are memberlist's figures, with a unit of 600 ms for its 1 s.
TEST(Suspicion, TimeoutsFollowMemberlist) {
  const auto in_seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
  EXPECT_NEAR(in_seconds(federation::SuspicionTimeout(100, 3, 3)), 4.8, 1e-6);
  EXPECT_NEAR(in_seconds(federation::SuspicionTimeout(100, 0, 3)), 28.8, 1e-6);
  EXPECT_NEAR(in_seconds(federation::SuspicionTimeout(100, 1, 3)), 28.8 - 0.5 * 24, 1e-6);
  EXPECT_NEAR(in_seconds(federation::SuspicionTimeout(1000, 3, 3)), 7.2, 1e-6);
  EXPECT_NEAR(in_seconds(federation::SuspicionTimeout(3, 0, 0)), 2.4, 1e-6);
  EXPECT_EQ(federation::SuspicionTimeout(100, 9, 3),
            federation::SuspicionTimeout(100, 3, 3));  // never below the least
  EXPECT_EQ(federation::ExpectedConfirmations(2), 0U);
  EXPECT_EQ(federation::ExpectedConfirmations(4), 1U);
  EXPECT_EQ(federation::ExpectedConfirmations(10), 2U);
  EXPECT_EQ(federation::ExpectedConfirmations(100), 3U);
}

TEST(Suspicion, AccusationsAreReadBackAndNothingElseIs) {
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(3));
  federation::Accusation accusation{.certificate = CertificateFor(key, "accuser"),
                                    .incarnation = 7};
  accusation.suspect.fill(9);
  const std::string bytes = federation::EncodeAccusation(accusation);
  EXPECT_EQ(*federation::DecodeAccusation(AsBytes(bytes)), accusation);
  EXPECT_EQ(ReasonOf(federation::DecodeAccusation(AsBytes(bytes + "x")).status()),
            reasons::kEnvelopeMalformed);
  EXPECT_EQ(ReasonOf(federation::DecodeAccusation(AsBytes(bytes).first(bytes.size() - 1)).status()),
            reasons::kEnvelopeMalformed);
}

federation::Accusation By(uint8_t accuser, uint64_t incarnation = 1) {
  federation::Accusation accusation{
      .certificate = {}, .suspect = RecordOf(100, 1)->node(), .incarnation = incarnation};
  accusation.certificate.node_id[0] = accuser;
  return accusation;
}

TEST(Suspicion, DistinctAccusersShortenTheTimeAndRepetitionDoesNot) {
  const privacy::NodeId suspect = RecordOf(100, 1)->node();
  const TimePoint start{};
  const auto died_after = [&](std::vector<uint8_t> accusers, bool lifeguard) {
    federation::SuspicionTable table(lifeguard);
    for (uint8_t accuser : accusers) {
      table.Add(By(accuser), nullptr, 100, start);
    }
    Duration waited{};
    while (table.TakeExpired(100, start + waited).empty()) {
      waited += milliseconds(100);
    }
    EXPECT_TRUE(table.Dead(suspect));
    return waited;
  };
  EXPECT_EQ(died_after({1, 2, 3, 4}, true), milliseconds(4800));
  EXPECT_EQ(died_after({1, 1, 1, 1, 1}, true), milliseconds(28'800));
  EXPECT_EQ(died_after({1}, false), milliseconds(4800));  // plain SWIM does not wait for others
}

TEST(Suspicion, PassesOnAFewAccusersAndForgetsThemWithTheIncarnation) {
  federation::SuspicionTable table(true);
  const TimePoint start{};
  int passed_on = 0;
  for (uint8_t accuser = 0; accuser < 20; ++accuser) {
    passed_on += table.Add(By(accuser), nullptr, 100, start) ? 1 : 0;
  }
  EXPECT_EQ(passed_on, 4);
  EXPECT_TRUE(table.Add(By(1, /*incarnation=*/2), nullptr, 100, start + seconds(60)));
  EXPECT_THAT(table.TakeExpired(100, start + seconds(61)), IsEmpty());  // its time started again
  table.Postpone(seconds(100));
  EXPECT_THAT(table.TakeExpired(100, start + seconds(120)), IsEmpty());
  EXPECT_THAT(table.TakeExpired(100, start + seconds(300)), SizeIs(1));
  EXPECT_THAT(table.TakeExpired(100, start + seconds(300)), IsEmpty());  // once
}

TEST(Suspicion, AnAccuserWhoseAccusationsAreRefutedUsesUpItsCredit) {
  federation::SuspicionTable table(true);
  TimePoint now{};
  uint64_t incarnation = 0;
  while (table.HasCredit(By(1).certificate.node_id, now)) {
    ASSERT_TRUE(table.Add(By(1, ++incarnation), nullptr, 100, now));
    EXPECT_FALSE(table.Add(By(1, incarnation), nullptr, 100, now)) << "again: not charged";
  }
  EXPECT_EQ(incarnation, static_cast<uint64_t>(limits::kFalseAccusationBurst));
  EXPECT_TRUE(table.HasCredit(By(2).certificate.node_id, now)) << "another accuser";
  now += seconds(30);
  EXPECT_FALSE(table.HasCredit(By(1).certificate.node_id, now));
  EXPECT_THAT(table.TakeExpired(100, now), SizeIs(1));  // the last one was true
  EXPECT_TRUE(table.HasCredit(By(1).certificate.node_id, now));
}

// A copy of one accusation, sent many times to its suspect, used up the accuser's credit there.
TEST(Suspicion, AnAccusationOfThisNodeIsChargedOnce) {
  federation::SuspicionTable table(true);
  const privacy::NodeId accuser = By(1).certificate.node_id;
  for (int i = 0; i < 100; ++i) {
    table.ChargeOwn(accuser, /*incarnation=*/7, TimePoint{});
  }
  EXPECT_TRUE(table.HasCredit(accuser, TimePoint{}));
  for (uint64_t i = 8; i < 8 + static_cast<uint64_t>(limits::kFalseAccusationBurst); ++i) {
    table.ChargeOwn(accuser, i, TimePoint{});
  }
  EXPECT_FALSE(table.HasCredit(accuser, TimePoint{}));
}

// ---- Member table

// A node's table: it signs records and accusations, and keeps those of others.
struct TableNode {
  explicit TableNode(uint64_t number)
      : key(privacy::NodeKey::FromSeed(SeedOf(number))),
        local{.key = &key,
              .certificate = CertificateFor(key, fmt::format("node-{}", number)),
              .cluster_id = Authority().cluster_id(),
              .listen_address = AddressOf(number)},
        sealer(local, EntropyOf(number)),
        table(local, certificates, sealer, outbox, {}) {}

  privacy::NodeKey key;
  federation::LocalNode local;
  federation::CertificateStore certificates{Authority().public_key()};
  federation::Sealer sealer;
  federation::Outbox outbox;
  federation::MemberTable table;
};

const federation::Instant kNow = At(seconds(1));

TEST(MemberTable, OnlyTheFirstAccuserMakesNodesLookForThemselves) {
  TableNode suspect(1);
  TableNode first(2);
  TableNode second(3);
  TableNode observer(4);
  const federation::RecordPtr record =
      suspect.table.Announce(federation::MemberState::kAlive, kNow);
  for (TableNode* node : {&first, &second, &observer}) {
    ASSERT_TRUE(node->table.Apply(record->envelope, kNow)->newer);
    for (uint64_t other = 10; other < 15; ++other) {  // a cluster that waits for confirmations
      TableNode member(other);
      const federation::RecordPtr own =
          member.table.Announce(federation::MemberState::kAlive, kNow);
      ASSERT_TRUE(node->table.Apply(own->envelope, kNow)->newer);
    }
  }
  const auto from_first = first.table.Accuse(suspect.key.id(), kNow);
  const auto from_second = second.table.Accuse(suspect.key.id(), kNow);
  EXPECT_EQ(*observer.table.ApplyAccusation(*from_first, kNow),
            federation::MemberTable::AccusationResult::kFirst);
  EXPECT_EQ(*observer.table.ApplyAccusation(*from_second, kNow),
            federation::MemberTable::AccusationResult::kFurther);
  // Again, from another neighbour: nothing is verified, and so nothing is refused.
  privacy::Envelope again = *from_second;
  again.signature[0] = static_cast<char>(again.signature[0] ^ 1);
  EXPECT_EQ(*observer.table.ApplyAccusation(again, kNow),
            federation::MemberTable::AccusationResult::kNothingNew);
  // A forgery like it that accuses a new member is looked at.
  TableNode third(5);
  ASSERT_TRUE(third.table.Apply(record->envelope, kNow)->newer);
  privacy::Envelope forged = *third.table.Accuse(suspect.key.id(), kNow);
  forged.signature[0] = static_cast<char>(forged.signature[0] ^ 1);
  EXPECT_EQ(ReasonOf(observer.table.ApplyAccusation(forged, kNow).status()),
            reasons::kSignatureInvalid);
}

TEST(MemberTable, TellsAKnownRecordByItsBytesAndAnotherByItsSignature) {
  TableNode owner(1);
  TableNode observer(2);
  const federation::RecordPtr record = owner.table.Announce(federation::MemberState::kAlive, kNow);
  ASSERT_TRUE(observer.table.Apply(record->envelope, kNow)->newer);
  const auto again = observer.table.Apply(record->envelope, kNow);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->newer);
  EXPECT_EQ(again->id, owner.key.id());
  privacy::Envelope altered = owner.table.Announce(federation::MemberState::kAlive, kNow)->envelope;
  altered.body.back() = static_cast<char>(altered.body.back() ^ 1);
  EXPECT_FALSE(observer.table.Apply(altered, kNow).ok());
}

// ---- Failure detector

class Detector : public testing::Test {
 protected:
  void MakeDetector(bool lifeguard, size_t links) {
    detector_ = std::make_unique<federation::FailureDetector>(lifeguard, outbox_, Random(1));
    for (size_t i = 1; i <= links; ++i) {
      detector_->LinkUp(i, Peer(i), now_);
    }
  }
  static privacy::NodeId Peer(size_t link) {
    return RecordOf(static_cast<uint8_t>(link), 1)->node();
  }
  // Ticks for `duration`; links of `answering` answer everything at once.
  std::vector<privacy::NodeId> Run(Duration duration, const std::set<federation::LinkId>& answering,
                                   bool helpers_nack = false) {
    std::vector<privacy::NodeId> failed;
    for (Duration passed{}; passed < duration; passed += milliseconds(200)) {
      now_ += milliseconds(200);
      for (const privacy::NodeId& id : detector_->Tick(now_)) {
        failed.push_back(id);
      }
      Answer(answering, helpers_nack);
    }
    return failed;
  }
  void Answer(const std::set<federation::LinkId>& answering, bool helpers_nack) {
    for (const federation::Action& action : outbox_.Take()) {
      const auto* send = std::get_if<federation::SendFrame>(&action);
      if (send == nullptr || !answering.contains(send->link)) {
        continue;
      }
      detector_->OnFrameReceived(send->link, now_);
      if (send->frame->has_ping()) {
        detector_->OnAck(send->link, send->frame->ping().seq(), now_);
      } else if (send->frame->has_ping_request()) {
        ++asked_;
        last_request_ = *send;
        if (helpers_nack) {
          detector_->OnNack(send->link, send->frame->ping_request().seq());
        }
      }
    }
  }

  federation::Outbox outbox_;
  TimePoint now_{};
  int asked_ = 0;
  federation::SendFrame last_request_;
  std::unique_ptr<federation::FailureDetector> detector_;
};

TEST_F(Detector, SilenceFailsAfterPingAndTimeoutAndHelpersAreAsked) {
  MakeDetector(true, 5);
  EXPECT_THAT(Run(seconds(20), {1, 2, 3, 4, 5}), IsEmpty());
  EXPECT_EQ(asked_, 0);
  const auto failed = Run(limits::kPingPeriod + limits::kPingTimeout + milliseconds(400),
                          {1, 2, 3, 4}, /*helpers_nack=*/true);
  EXPECT_THAT(failed, ElementsAre(Peer(5)));
  EXPECT_GE(asked_, static_cast<int>(limits::kIndirectChecks));
  EXPECT_EQ(detector_->health(), 0);  // others could not reach it either
}

TEST_F(Detector, AHelperThatReachesThePeerAcquitsIt) {
  MakeDetector(true, 3);
  Run(seconds(5), {1, 2, 3});
  std::vector<privacy::NodeId> failed;
  for (int i = 0; i < 40; ++i) {
    const auto more = Run(milliseconds(200), {1, 2});
    failed.insert(failed.end(), more.begin(), more.end());
    if (std::exchange(asked_, 0) > 0) {
      detector_->OnAck(last_request_.link, last_request_.frame->ping_request().seq(), now_);
    }
  }
  EXPECT_THAT(failed, IsEmpty());
}

TEST_F(Detector, SilenceOfAllMeansThatThisNodeIsSlow) {
  MakeDetector(true, 5);
  Run(seconds(10), {1, 2, 3, 4, 5});
  EXPECT_THAT(Run(seconds(9), {}), SizeIs(testing::Ge(1U)));
  EXPECT_GT(detector_->health(), 0);
  const int worst = detector_->health();
  Run(seconds(60), {1, 2, 3, 4, 5});
  EXPECT_LT(detector_->health(), worst);
}

TEST_F(Detector, PlainSwimKnowsNoHealth) {
  MakeDetector(false, 5);
  Run(seconds(10), {1, 2, 3, 4, 5});
  const auto failed = Run(seconds(9), {});
  EXPECT_EQ(std::set<privacy::NodeId>(failed.begin(), failed.end()).size(), 5U);
  EXPECT_EQ(detector_->health(), 0);
}

TEST_F(Detector, AStallOfItsOwnIsNotHeldAgainstOthers) {
  for (const bool lifeguard : {true, false}) {
    MakeDetector(lifeguard, 5);
    now_ += limits::kPingPeriod;
    detector_->Tick(now_);  // every ping is under way
    outbox_.Take();
    now_ += seconds(10);
    EXPECT_THAT(detector_->Tick(now_), SizeIs(lifeguard ? 0 : 5));
    EXPECT_EQ(detector_->stalled(), lifeguard ? Duration(seconds(10)) : Duration(0));
  }
}

TEST_F(Detector, ChecksForOthersAndSaysWhatItFound) {
  MakeDetector(true, 2);
  detector_->OnPingRequest(1, 77, Peer(2), now_);
  EXPECT_THAT(detector_->TakeDialRequests(), IsEmpty());  // there is a link
  detector_->OnFrameReceived(2, now_);
  federation::Actions actions = outbox_.Take();
  ASSERT_FALSE(actions.empty());
  const auto& acked = std::get<federation::SendFrame>(actions.back());
  EXPECT_EQ(acked.link, 1U);
  EXPECT_EQ(acked.frame->ack().seq(), 77U);

  detector_->OnPingRequest(1, 78, Peer(9), now_);
  EXPECT_THAT(detector_->TakeDialRequests(), ElementsAre(Peer(9)));  // to be dialled
  now_ += limits::kPingTimeout;
  detector_->Tick(now_);
  actions = outbox_.Take();
  const bool nacked =
      std::any_of(actions.begin(), actions.end(), [](const federation::Action& action) {
        const auto* send = std::get_if<federation::SendFrame>(&action);
        return send != nullptr && send->frame->has_nack() && send->frame->nack().seq() == 78;
      });
  EXPECT_TRUE(nacked);
}

}  // namespace
}  // namespace ruvd::test
