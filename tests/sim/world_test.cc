// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/signature_memo.h"
#include "tests/sim/world_report.h"

namespace ruvd::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

WorldOptions Small(uint64_t seed) {
  WorldOptions options;
  options.nodes = 8;
  options.seed = seed;
  options.hours = 0.01;
  return options;
}

// Returns a world in which nothing happens except what a test adds.
WorldOptions Calm(uint64_t seed) {
  WorldOptions options = Small(seed);
  options.faults.emplace();
  options.byzantine.emplace();
  options.learning = false;
  options.loss = 0;
  return options;
}

void ExpectWell(const WorldOptions& options, const WorldReport& report) {
  for (const Violation& violation : report.violations) {
    ADD_FAILURE() << violation.invariant << ": " << violation.detail
                  << "\nrepeat: " << ReproductionCommand(options, options.seed);
  }
  EXPECT_TRUE(report.settled_s.has_value());
  EXPECT_GT(report.measures.acknowledged, 0U);
  EXPECT_GT(report.measures.deliveries, 0U);
}

TEST(World, CalmOneDeliversEverythingOnceToEverybody) {
  const WorldReport report = World(Calm(1)).Run();
  ExpectWell(Calm(1), report);
  EXPECT_EQ(report.measures.deliveries, report.measures.due_deliveries);
  EXPECT_LE(report.measures.payload_bytes_received, report.measures.delivered_bytes * 11 / 10);
  EXPECT_THAT(report.measures.refused, IsEmpty());
  EXPECT_EQ(report.measures.false_suspicions, 0U);
  EXPECT_EQ(report.measures.false_deaths, 0U);
}

// Nearly all members are behind firewalls: what two of them send each other goes through relays,
// under every fault.
TEST(World, MembersThatNobodyCanDialTakePart) {
  uint64_t carried = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    WorldOptions options = seed == 1 ? Calm(seed) : Small(seed);
    options.nodes = 20;
    options.undialable = 0.85;
    const WorldReport report = World(options).Run();
    ExpectWell(options, report);
    carried += report.network.kinds[federation::v1::WireFrame::kRelayFrame].frames;
    EXPECT_THAT(ReproductionCommand(options, seed), HasSubstr("--undialable 0.85"));
  }
  EXPECT_GT(carried, 0U);
}

TEST(World, SameSeedSameTrace) {
  const WorldReport first = World(Small(5)).Run();
  const WorldReport again = World(Small(5)).Run();
  EXPECT_EQ(first.trace_hash, again.trace_hash);
  EXPECT_EQ(first.events, again.events);
  EXPECT_EQ(first.faults, again.faults);
  EXPECT_NE(first.trace_hash, World(Small(6)).Run().trace_hash);
}

TEST(World, SeedsPickTheirOwnOptions) {
  const WorldReport first = World(Small(1)).Run();
  const WorldReport second = World(Small(2)).Run();
  EXPECT_NE(std::make_pair(first.options, first.loss), std::make_pair(second.options, second.loss));
}

TEST(World, SignaturesAreCheckedByLibsodiumOnceEach) {
  const SignatureMemoCounters before = SignatureMemo();
  World(Calm(3)).Run();
  EXPECT_GT(SignatureMemo().computed, before.computed);
  EXPECT_GT(SignatureMemo().asked - before.asked, 2 * (SignatureMemo().computed - before.computed));
}

// Restores the signatures that the other tests use.
class SimulatedSignatures : public testing::Test {
 protected:
  SimulatedSignatures() { SimulateSignatures(true); }
  ~SimulatedSignatures() override { SimulateSignatures(false); }
};

TEST_F(SimulatedSignatures, RefuseForgeriesAndComputeNone) {
  WorldOptions options = Calm(21);
  options.nodes = 10;
  options.byzantine->push_back({.kind = AdversaryKind::kForger, .share = 0.3});
  World(options).Run();  // keys and certificates
  const SignatureMemoCounters before = SignatureMemo();
  const WorldReport report = World(options).Run();
  ExpectWell(options, report);
  EXPECT_THAT(report.measures.refused, Contains(testing::Key("SIGNATURE_INVALID")));
  EXPECT_EQ(SignatureMemo().computed, before.computed);
  EXPECT_GT(SignatureMemo().asked, before.asked);
}

TEST(World, EstablishedOneNeedsNoIntroductions) {
  WorldOptions options = Calm(1);
  options.nodes = 40;
  const WorldReport met = World(options).Run();
  options.established = true;
  const WorldReport established = World(options).Run();
  ExpectWell(options, established);
  EXPECT_EQ(established.measures.deliveries, established.measures.due_deliveries);
  const auto deltas = [](const WorldReport& report) {
    return report.network.kinds[federation::v1::WireFrame::kMemberDeltaFieldNumber].frames;
  };
  EXPECT_LT(deltas(established), deltas(met) / 2);
}

class WorldSeeds : public testing::TestWithParam<uint64_t> {};

TEST_P(WorldSeeds, HoldsItsInvariants) {
  const WorldOptions options = Small(GetParam());
  ExpectWell(options, World(options).Run());
}

INSTANTIATE_TEST_SUITE_P(Swarm, WorldSeeds, testing::Range<uint64_t>(1, 13));

class WorldFaults : public testing::TestWithParam<Fault> {};

TEST_P(WorldFaults, HappensAndDoesNoHarm) {
  WorldOptions options = Calm(11);
  options.hours = 0.05;
  options.faults->insert(GetParam());
  const WorldReport report = World(options).Run();
  ExpectWell(options, report);
  const std::string name(FaultName(GetParam()));
  if (GetParam() == Fault::kDuplication) {
    EXPECT_GT(report.faults.at("duplicated-frame"), 0U);
  } else if (GetParam() != Fault::kClockDrift) {
    EXPECT_THAT(report.faults, Contains(testing::Key(name)));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, WorldFaults, testing::ValuesIn(AllFaults()),
                         [](const auto& parameter) {
                           std::string name(FaultName(parameter.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class WorldAdversaries : public testing::TestWithParam<AdversaryKind> {};

TEST_P(WorldAdversaries, CannotHarmHonestNodes) {
  WorldOptions options = Calm(21);
  options.nodes = 10;
  options.byzantine->push_back({.kind = GetParam(), .share = 0.3});
  const WorldReport report = World(options).Run();
  ExpectWell(options, report);
  EXPECT_EQ(report.honest, 7U);
  EXPECT_EQ(report.measures.deliveries, report.measures.due_deliveries);
  switch (GetParam()) {
    case AdversaryKind::kForger:
      EXPECT_THAT(report.measures.refused, Contains(testing::Key("SIGNATURE_INVALID")));
      break;
    case AdversaryKind::kReplayer:
      EXPECT_THAT(report.measures.refused, Contains(testing::Key("WRONG_CLUSTER")));
      break;
    case AdversaryKind::kEquivocator:
      EXPECT_EQ(report.measures.graylisted, 7 * 3U);
      break;
    case AdversaryKind::kFlooder:
    case AdversaryKind::kBomber:
      EXPECT_THAT(report.measures.refused, Contains(testing::Key("LIMIT_EXCEEDED")));
      break;
    case AdversaryKind::kWrongFrame:
      EXPECT_THAT(report.measures.refused, Contains(testing::Key("FRAME_MISMATCH")));
      break;
    case AdversaryKind::kSpammer:
      EXPECT_THAT(report.measures.refused, Contains(testing::Key("OVER_BUDGET")));
      break;
    case AdversaryKind::kAccuser:
      EXPECT_EQ(report.measures.false_deaths, 0U);
      break;
    default:
      break;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, WorldAdversaries, testing::ValuesIn(AllAdversaries()),
                         [](const auto& parameter) {
                           std::string name(AdversaryName(parameter.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- Learning together

TEST(WorldLearning, EverybodyEndsWithTheSameAdapterAndLearnsWhatAllWant) {
  for (const uint64_t seed : {1, 2, 3}) {
    WorldOptions options = Small(seed);  // with the faults that the seed picks
    options.nodes = 12;
    options.byzantine.emplace();
    options.learning = true;
    const WorldReport report = World(options).Run();
    ExpectWell(options, report);
    EXPECT_EQ(report.measures.adapter_error.count(), 1U);
    EXPECT_LT(report.measures.adapter_error.Quantile(1), 0.25);
  }
}

class WorldUpdateAttacks : public testing::TestWithParam<AdversaryKind> {};

TEST_P(WorldUpdateAttacks, DoNotKeepHonestNodesFromLearning) {
  WorldOptions options = Calm(5);
  options.nodes = 15;
  options.byzantine->push_back({.kind = GetParam(), .share = 0.2});
  const WorldReport report = World(options).Run();
  ExpectWell(options, report);
  EXPECT_EQ(report.honest, 12U);
  EXPECT_GE(report.measures.accepted_byzantine, 3 * 6U);  // accepted and outvoted
  EXPECT_LT(report.measures.adapter_error.Quantile(1), 0.3);
}

INSTANTIATE_TEST_SUITE_P(Each, WorldUpdateAttacks,
                         testing::Values(AdversaryKind::kSignFlip, AdversaryKind::kAlie,
                                         AdversaryKind::kInnerProduct, AdversaryKind::kMinMax,
                                         AdversaryKind::kGaussian),
                         [](const auto& parameter) {
                           std::string name(AdversaryName(parameter.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- Masked sums

// A world in which most nodes add up their gradients under masks.
WorldOptions Masked(uint64_t seed, std::set<Fault> faults = {}) {
  WorldOptions options = Calm(seed);
  options.nodes = 12;
  options.hours = 0.02;
  options.faults = std::move(faults);
  options.masked = true;
  return options;
}

TEST(WorldMasked, EverybodyEndsWithTheAdapterOfTheSums) {
  uint64_t noised = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const WorldReport report = World(Masked(seed)).Run();
    ExpectWell(Masked(seed), report);
    noised += report.measures.noised;
    EXPECT_GE(report.measures.masked_sums, 5U);
    EXPECT_GE(report.measures.masked_shares, 4 * report.measures.masked_sums);
    EXPECT_LT(report.measures.adapter_error.Quantile(1), 0.3);
  }
  EXPECT_GT(noised, 0U) << "nodes of the tier dp contribute beside the sums";
}

TEST(WorldMasked, SameSeedSameTrace) {
  const WorldOptions options = Masked(4, {Fault::kKill, Fault::kPartition});
  EXPECT_EQ(World(options).Run().trace_hash, World(options).Run().trace_hash);
  EXPECT_THAT(ReproductionCommand(options, 4), HasSubstr("--masked"));
}

class WorldMaskedFaults : public testing::TestWithParam<Fault> {};

TEST_P(WorldMaskedFaults, SpoilNoSumThatCounts) {
  const WorldOptions options = Masked(7, {GetParam()});
  const WorldReport report = World(options).Run();
  ExpectWell(options, report);
  EXPECT_GE(report.measures.masked_sums, 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, WorldMaskedFaults, testing::ValuesIn(AllFaults()),
                         [](const auto& parameter) {
                           std::string name(FaultName(parameter.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(WorldMasked, ChargesSurviveADeathWithinARelease) {
  uint64_t in_shares = 0;
  uint64_t in_contributions = 0;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const WorldOptions options = Masked(seed, {Fault::kPowerCut});
    const WorldReport report = World(options).Run();
    ExpectWell(options, report);
    in_shares += report.faults.at("death-in-share");
    in_contributions += report.faults.at("death-in-contribution");
  }
  EXPECT_GE(in_shares, 1U);
  EXPECT_GE(in_contributions, 1U);
}

TEST(WorldMasked, LiarsInSharesSpoilTheirOwnSumsOnly) {
  uint64_t sums = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    WorldOptions options = Masked(seed);
    options.nodes = 20;
    options.byzantine->push_back({.kind = AdversaryKind::kFalseShare, .share = 0.05});
    const WorldReport report = World(options).Run();
    ExpectWell(options, report);
    EXPECT_GT(report.measures.accepted_byzantine, 0U);
    sums += report.measures.masked_sums;
  }
  EXPECT_GE(sums, 3U);
}

// ---- The invariants can fail: each of these worlds has a deliberate defect.

// `detail` is a part of the report, which tells apart what violates one invariant in several ways.
void ExpectViolation(WorldOptions options, SeededDefect defect, const std::string& invariant,
                     const std::string& detail = "") {
  EXPECT_EQ(World(options).Run().violations.size(), 0U);  // without the defect
  options.defect = defect;
  const WorldReport report = World(options).Run();
  std::vector<std::string> found;
  for (const Violation& violation : report.violations) {
    found.push_back(violation.invariant + " " + violation.detail);
  }
  EXPECT_THAT(found, Contains(AllOf(StartsWith(invariant + " "), HasSubstr(detail))));
}

TEST(WorldCatches, AnHonestNodeKeptOut) {
  ExpectViolation(Calm(41), SeededDefect::kHonestKeptOut, "honest_member_graylisted");
}

TEST(WorldCatches, AForgedItem) {
  ExpectViolation(Calm(1), SeededDefect::kForgedItem, "forged_item");
}

TEST(WorldCatches, AForgedMember) {
  ExpectViolation(Calm(1), SeededDefect::kForgedMember, "forged_member");
}

TEST(WorldCatches, ANodeThatAcknowledgesWhatItDidNotSync) {
  WorldOptions options = Calm(6);
  options.faults->insert(Fault::kPowerCut);
  options.items = 100;
  options.hours = 0.05;
  ExpectViolation(options, SeededDefect::kUnsyncedItems, "acknowledged_item_lost");
}

TEST(WorldCatches, ALedgerThatForgets) {
  WorldOptions options = Calm(2);
  options.faults->insert(Fault::kPowerCut);
  options.items = 200;
  options.hours = 0.05;
  ExpectViolation(options, SeededDefect::kUnsyncedLedger, "ledger_not_monotone");
}

TEST(WorldCatches, ARuleThatTrustsEverybody) {
  WorldOptions options = Calm(5);
  options.nodes = 15;
  options.byzantine->push_back({.kind = AdversaryKind::kGaussian, .share = 0.14});
  ExpectViolation(options, SeededDefect::kTrustingRule, "not_converged");
}

// A calm world that learns together, with faults and the time for several windows.
WorldOptions Learners(uint64_t seed, std::set<Fault> faults) {
  WorldOptions options = Calm(seed);
  options.learning = true;
  options.hours = 0.03;
  options.faults = std::move(faults);
  return options;
}

TEST(WorldCatches, ANodeWhoseRoundsTakeWhatItDoesNotHold) {
  ExpectViolation(Learners(5, {}), SeededDefect::kOddNode, "history_differs");
}

TEST(WorldCatches, AChargeThatComesAfterTheContributionLeft) {
  ExpectViolation(Learners(5, {}), SeededDefect::kLateCharge, "released_uncharged");
}

TEST(WorldCatches, AShareThatLeavesBeforeItsCharge) {
  ExpectViolation(Masked(5), SeededDefect::kLateShareCharge, "released_uncharged", ": share ");
}

TEST(WorldCatches, AWithdrawnLessonThatIsTrainedAgain) {
  ExpectViolation(Learners(5, {Fault::kWithdrawal}), SeededDefect::kWithdrawnLesson,
                  "withdrawn_lesson_trained");
}

TEST(WorldCatches, ANoisedContributionThatLeavesBeforeItsCharge) {
  ExpectViolation(Masked(3), SeededDefect::kLateShareCharge, "released_uncharged",
                  ": contribution with noise ");
}

TEST(WorldCatches, AWithdrawnLessonInAShare) {
  ExpectViolation(Masked(5, {Fault::kWithdrawal}), SeededDefect::kWithdrawnLesson,
                  "withdrawn_lesson_trained", ": share ");
}

TEST(WorldCatches, AWithdrawnLessonInANoisedContribution) {
  ExpectViolation(Masked(3, {Fault::kWithdrawal}), SeededDefect::kWithdrawnLesson,
                  "withdrawn_lesson_trained", ": contribution with noise ");
}

TEST(WorldCatches, AContributionOfAWithdrawnLessonThatIsNotTakenBack) {
  ExpectViolation(Learners(5, {Fault::kWithdrawal}), SeededDefect::kKeptContribution,
                  "withdrawn_lesson_kept");
}

TEST(WorldCatches, ARoundThatIsChargedTwice) {
  WorldOptions options = Masked(3, {Fault::kKill});
  options.hours = 0.1;  // a node has to die between its charge and its offer, and be back in time
  ExpectViolation(options, SeededDefect::kChargedTwice, "charged_twice");
}

TEST(WorldCatches, AMaskedSumOfSomethingElse) {
  ExpectViolation(Masked(5), SeededDefect::kOtherInput, "masked_sum_differs");
}

TEST(WorldCatches, AMaskedSumThatIsAppliedTwice) {
  ExpectViolation(Masked(5), SeededDefect::kSumTwice, "sum_counts_twice");
}

TEST(WorldCatches, ARoundWithMaskedSumsThatIsAppliedTwice) {
  WorldOptions options = Masked(5, {Fault::kKill});
  options.hours = 0.05;  // some kills after the first settled rounds
  ExpectViolation(options, SeededDefect::kRoundTwice, "history_differs");
}

TEST(WorldCatches, ARoundThatIsAppliedTwice) {
  ExpectViolation(Learners(5, {Fault::kKill}), SeededDefect::kRoundTwice, "history_differs");
}

TEST(WorldCatches, AWithdrawnContributionThatCountsAgainAfterARestart) {
  ExpectViolation(Learners(5, {Fault::kKill, Fault::kWithdrawal}), SeededDefect::kWithdrawnReturns,
                  "withdrawn_counts");
}

TEST(WorldCatches, ANodeThatNothingReaches) {
  ExpectViolation(Calm(1), SeededDefect::kDeafNode, "acknowledged_item_lost");
}

// ---- Report

TEST(WorldReport, SaysHowToRepeatAFailingSeed) {
  WorldOptions options = Calm(7);
  options.byzantine->push_back({.kind = AdversaryKind::kForger, .share = 0.2});
  options.faults->insert(Fault::kPowerCut);
  EXPECT_EQ(ReproductionCommand(options, 7),
            "world --nodes 8 --seeds 7..7 --hours 0.01 --no-learning --loss 0 --faults power-cut "
            "--byzantine forger:0.2");
  EXPECT_EQ(ReproductionCommand(Small(3), 3), "world --nodes 8 --seeds 3..3 --hours 0.01");
}

TEST(WorldReport, JsonAndTableNameWhatWasMeasured) {
  WorldOptions options = Calm(1);
  options.defect = SeededDefect::kForgedItem;
  Summary summary{.nodes = 8, .runs = {}, .cost = {}};
  summary.runs.push_back(World(options).Run());
  const std::string json = ToJson(summary);
  for (const char* key :
       {"\"faults\":", "\"violations\":1", "\"copies_per_delivery\":", "\"detection\":",
        "\"heal\":", "\"frames_by_kind\":", "\"memory\":", "\"trace_hash\":"}) {
    EXPECT_THAT(json, HasSubstr(key));
  }
  EXPECT_THAT(json, HasSubstr("\"invariant\":\"forged_item\""));
  EXPECT_THAT(ToTable(summary), HasSubstr("violations                       1\n"));
  EXPECT_THAT(ToTable(summary), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace ruvd::test
