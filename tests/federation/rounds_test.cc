// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::EmptyState;
using federation::GlobalState;
using federation::LearnerPlan;
using federation::RoundContribution;
using federation::RoundReport;
using federation::Strategy;

std::string DigestAfter(const LearnerPlan& plan, uint64_t until, const Contributions& contributions,
                        const Verdicts& verdicts = {}) {
  return ToHex(After(plan, until, contributions, verdicts).DigestOf(plan));
}

// ---- Golden values

// The digest comes from a program in Python that follows docs/wire-format.md.
TEST(ApplyRounds, MeansOfTwoRoundsHaveTheDigestOfAnotherProgram) {
  LearnerPlan plan;
  plan.frame_id.fill(0x22);
  plan.rank = 2;
  plan.boundaries = {0.5F};
  plan.values_per_bank = 4;
  plan.rule = "mean";
  plan.outer.step = 0.5;
  Contributions set;
  const auto add = [&](uint64_t round, uint64_t base, size_t node, std::vector<uint32_t> banks,
                       std::vector<float> values) {
    Random random(1);
    RoundContribution one = SomeContribution(plan, round, node, "golden", random);
    one.contribution.base_round = base;
    one.contribution.banks = std::move(banks);
    one.contribution.floats = std::move(values);
    set.push_back(std::move(one));
  };
  add(1, 0, 0, {0, 1}, {1, 0, -0.5F, 0.25F, 2, -2, 0.125F, 1});
  add(1, 0, 1, {0, 1}, {0.5F, 0.5F, 0.5F, 0.5F, -1, 0, 3, 0.0625F});
  add(1, 0, 2, {0, 1}, {16, 0, 12, 0, 0, 0, 0, 21});  // norm 29, scaled to 16
  add(4, 0, 1, {0}, {1, 1, 1, 1});                    // three rounds old
  add(4, 3, 2, {0, 1}, {-1, 2, -3, 4, 1, 2, 3, 4});
  const GlobalState state = After(plan, 5, set);
  EXPECT_EQ(ToHex(plan.Id()), "9289b9c78a34ac9146c9e352b9d36217bb78ea5ad262e7f2ad68d24443eaeccc");
  EXPECT_EQ(ToHex(AsBytes(EncodeState(state, plan))),
            "01009289b9c78a34ac9146c9e352b9d36217bb78ea5ad262e7f2ad68d24443ea"
            "eccc05000000000000000ffdc63fabaa6a3f864c8a3e0000d03f020000000000"
            "0000000000000000f03f000000000000f03f0000000000000000abaa2a3faaaa"
            "2a3f55550140b47583400200000000000000000000000000f03f000000000000"
            "f03f0000000000000000030000008cee2a50637975f7bb1f0d618541df17bc38"
            "bcf5c10be48d02578c0ff5479b2b04000000000000008f1b614611b4242cd889"
            "c3e69db4878b9dff34a8b3579aee2df8310ab0fd5fae0100000000000000db4e"
            "b995b23ea8eff049b0bd460bb9f4f5f393ad25e0dcabc2dfe1e9e2202c5a0400"
            "0000000000000000");
  EXPECT_EQ(ToHex(state.DigestOf(plan)),
            "467854cd0e1582c627e34d48fe330c01f9d2522cfd926dcfe1c817756e754563");
}

// Five rounds with everything that a set may have: nodes in sums and alone, two attempts, an origin
// twice, stale, long and partial contributions, unequal schedules and noise.
Contributions FullSet(const LearnerPlan& plan) {
  Random random(7);
  Contributions set;
  for (uint64_t round = 1; round <= 5; ++round) {
    for (size_t node = 0; node < 9; ++node) {
      RoundContribution one = SomeContribution(plan, round, node, "full", random);
      one.contribution.schedule = node % 3 == 0 ? MaskedIn(0, 4) : MaskedIn(node % 3, 9);
      if (node == 4 && round > 2) {
        one.contribution.base_round = 0;
      }
      if (node == 5) {
        one.contribution.banks = {1};
        one.contribution.floats.resize(one.contribution.floats.size() / 2);
        one.contribution.units.resize(one.contribution.units.size() / 2);
      }
      for (float& value : one.contribution.floats) {
        value *= node == 6 ? 64.0F : 0.5F;
      }
      set.push_back(std::move(one));
    }
    set.push_back(SomeContribution(plan, round, 3, "again", random));
    if (plan.kind == federation::ContributionKind::kGradient) {
      set[set.size() - 3].contribution.noise = federation::Contribution::Noise::kWhole;
      set.push_back(SomeSum(plan, round, 7, 12, 1, random));
      set.push_back(SomeSum(plan, round, 8, 12, 0, random));
    }
  }
  return set;
}

// Another compiler or processor whose results differ fails here.
TEST(ApplyRounds, HaveTheSameDigestsOnEveryMachine) {
  const std::map<std::string, std::string> delta = {
      {"default", "3a60a2bed79e3ff47e4a66e031d8e2b86a39f6e600343cac7a288490d45eaf4b"},
      {"mean", "419b7d87f3e8b37e23b6340eb1570582b54ab3d187b877324972410f4153cc29"},
      {"median", "3b85192ac0272a4c4bfeda53ebc988b0ce9969ee83b4cc246a77ac0bceec889c"},
      {"trimmed_mean", "7e5e9592070343475b36f76fc87220b238661b461cdecc91c2be7376d653818c"},
      {"nearest_neighbour_trimmed",
       "d852caff4acfda9566552c6954aab5ec924bf84f19bd968d321e2274a5102a2a"},
      {"multi_krum", "db8ba31189d6d2f55207d9256e0a3370ee31fb84fdcd8c3d23ecc71f8e53ebb2"},
      {"geometric_median", "5d69b0d93b61ef1b8c5d18c1cfad5dabbf6200f54d6f9cb60bba7c1cf4017850"},
      {"self_clip", "c7ddad04fb06752b3ec481e0f35befbf41baa3758533c9c52f53eb2263d48c7a"},
  };
  const std::map<Strategy, std::string> gradient = {
      {Strategy::kTimestepAligned,
       "8b13ce564686a9895bc5b1addc0251efe3c68d760f449e89f74025eec227604f"},
      {Strategy::kScheduleSimilarity,
       "34bfa3bd4f4720e0cb6157bc4cfcb37dc16a675222be81ddb6cc35bf5f9482f9"},
      {Strategy::kHybrid, "e84f3c63613270f28ad8ef5401359067bf960722fac50f4641bd46e1c96709d9"},
  };
  WithEachInstructionSet([&](const char* name) {
    for (const auto& [rule, digest] : delta) {
      LearnerPlan plan = DeltaPlan();
      plan.rule = rule;
      plan.outer = {
          .kind = federation::OuterOptions::Kind::kMomentum, .step = 0.5, .nesterov = true};
      EXPECT_EQ(DigestAfter(plan, 5, FullSet(plan)), digest) << rule << " with " << name;
    }
    for (const auto& [strategy, digest] : gradient) {
      LearnerPlan plan = GradientPlan();
      plan.strategy = {.strategy = strategy, .quality_weight = 0};
      EXPECT_EQ(DigestAfter(plan, 5, FullSet(plan)), digest)
          << static_cast<int>(strategy) << " with " << name;
    }
  });
}

// ---- A function of the set

RC_GTEST_PROP(ApplyRounds, DoNotDependOnTheOrderOfTheSet, ()) {
  LearnerPlan plan = *rc::gen::arbitrary<bool>() ? DeltaPlan() : GradientPlan();
  plan.strategy = {.strategy = *rc::gen::element(Strategy::kTimestepAligned,
                                                 Strategy::kScheduleSimilarity, Strategy::kHybrid),
                   .quality_weight = 0};
  Contributions set = FullSet(plan);
  const std::string expected = DigestAfter(plan, 6, set);
  Random random(*rc::gen::arbitrary<uint64_t>());
  random.Shuffle(std::span<RoundContribution>(set));
  RC_ASSERT(DigestAfter(plan, 6, set) == expected);
  set.push_back(set[random.Below(set.size())]);  // listed twice
  RC_ASSERT(DigestAfter(plan, 6, set) == expected);
}

RC_GTEST_PROP(ApplyRounds, AnyCheckpointOnTheWayGivesTheSameState, ()) {
  const LearnerPlan plan = *rc::gen::arbitrary<bool>() ? DeltaPlan() : GradientPlan();
  const Contributions set = FullSet(plan);
  const auto middle = *rc::gen::inRange<uint64_t>(0, 7);
  const GlobalState half = *ApplyRounds(plan, EmptyState(plan, 1), SetOf(set), middle);
  const auto decoded = DecodeState(AsBytes(EncodeState(half, plan)), plan);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == half);
  Contributions later = set;
  std::erase_if(later, [&](const auto& one) { return one.contribution.round <= middle; });
  const auto whole = ApplyRounds(plan, *decoded, SetOf(later), 7);
  RC_ASSERT(whole.ok());
  RC_ASSERT(ToHex(whole->DigestOf(plan)) == DigestAfter(plan, 7, set));
}

TEST(ApplyRounds, EveryContributionThatCountsMovesTheDigest) {
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  const Contributions set = FullSet(plan);
  const std::string whole = DigestAfter(plan, 5, set);
  for (size_t i = 0; i < set.size(); ++i) {
    Contributions less = set;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    const bool twice = set[i].origin == LearnerNode(3);
    if (!twice) {
      EXPECT_NE(DigestAfter(plan, 5, less), whole) << i;
    }
  }
}

TEST(ApplyRounds, AnEmptyRoundChangesTheRoundAlone) {
  LearnerPlan plan = DeltaPlan();
  plan.outer = {.kind = federation::OuterOptions::Kind::kMomentum};
  const Contributions set = {Filled(plan, 3, 0, 0.5F)};
  const GlobalState third = After(plan, 3, set);
  GlobalState later = After(plan, 1'000'000'000, set);
  EXPECT_EQ(later.round, 1'000'000'000u);
  EXPECT_NE(later.DigestOf(plan), third.DigestOf(plan));
  later.round = 3;
  EXPECT_EQ(later, third);
  EXPECT_EQ(After(plan, 2, set), EmptyState(plan, 3)) << "its round is yet to come";
}

// ---- Who counts

TEST(ApplyRounds, ADuplicateOriginCountsOnceByTheLowestId) {
  const LearnerPlan plan = DeltaPlan();
  RoundContribution first = Filled(plan, 1, 0, 0.25F);
  RoundContribution second = Filled(plan, 1, 0, 0.5F);
  first.id[0] = 1;
  second.id[0] = 2;
  std::vector<RoundReport> reports;
  EXPECT_EQ(After(plan, 1, {second, first}, {}, &reports), After(plan, 1, {first}));
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].parts.size(), 2u);
  EXPECT_TRUE(reports[0].parts[0].refused.ok());
  EXPECT_EQ(ReasonOf(reports[0].parts[1].refused), reasons::kCountedOnce);
  EXPECT_EQ(reports[0].contributors, (std::vector<size_t>{1, 1}));
  second.contribution.round = 2;
  second.contribution.base_round = 1;
  EXPECT_NE(After(plan, 2, {second, first}), After(plan, 2, {first})) << "in another round";
}

TEST(ApplyRounds, ANodeInASumDoesNotCountAgainByItself) {
  const LearnerPlan plan = GradientPlan();
  Random random(3);
  const RoundContribution sum = SomeSum(plan, 1, 0, 4, 0, random);
  const RoundContribution member = SomeContribution(plan, 1, 2, "alone", random);
  const RoundContribution other = SomeContribution(plan, 1, 5, "alone", random);
  std::vector<RoundReport> reports;
  EXPECT_EQ(After(plan, 1, {member, other, sum}, {}, &reports), After(plan, 1, {sum, other}));
  EXPECT_EQ(reports[0].contributors[0], 2u);
  for (const RoundReport::Part& part : reports[0].parts) {
    EXPECT_EQ(ReasonOf(part.refused), part.origin == member.origin ? reasons::kInMaskedSum : "");
    EXPECT_EQ(part.members, part.origin == sum.origin ? 5u : 1u);
  }
  EXPECT_NE(After(plan, 1, {member, other}), After(plan, 1, {other}));
}

TEST(ApplyRounds, OfSumsThatShareAMemberTheLowestAttemptCounts) {
  const LearnerPlan plan = GradientPlan();
  Random random(3);
  const RoundContribution whole = SomeSum(plan, 1, 0, 5, 0, random);
  const RoundContribution restart = SomeSum(plan, 1, 1, 5, 1, random);
  const RoundContribution other = SomeSum(plan, 1, 6, 9, 1, random);
  EXPECT_EQ(After(plan, 1, {restart, other, whole}), After(plan, 1, {whole, other}));
  EXPECT_NE(After(plan, 1, {restart, other}), After(plan, 1, {whole, other}));
  const GlobalState state = After(plan, 1, {whole, restart});
  EXPECT_EQ(state.last_part.size(), 6u);
  EXPECT_TRUE(state.last_part.contains(LearnerNode(0)));
  EXPECT_FALSE(state.last_part.contains(whole.origin)) << "a set is no node";
}

TEST(ApplyRounds, TooManyContributionsAreDrawnByHash) {
  LearnerPlan plan = DeltaPlan();
  plan.values_per_bank = 1;
  plan.rule = "mean";
  Contributions set;
  const size_t most = limits::kMaxContributions;
  for (size_t node = 0; node < most + 20; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
    set.push_back(Filled(plan, 2, node, 0.5F));
  }
  std::vector<RoundReport> reports;
  const GlobalState state = After(plan, 2, set, {}, &reports);
  std::vector<std::set<privacy::NodeId>> left_out(2);
  for (size_t round = 0; round < 2; ++round) {
    EXPECT_EQ(reports[round].contributors[0], most);
    for (const RoundReport::Part& part : reports[round].parts) {
      if (!part.refused.ok()) {
        EXPECT_EQ(ReasonOf(part.refused), reasons::kLimitExceeded);
        left_out[round].insert(part.origin);
      }
    }
    EXPECT_EQ(left_out[round].size(), 20u);
  }
  EXPECT_NE(left_out[0], left_out[1]) << "not always the same nodes";
  std::erase_if(set, [&](const auto& one) {
    return left_out[one.contribution.round - 1].contains(one.origin);
  });
  EXPECT_EQ(After(plan, 2, set), state);
}

TEST(ApplyRounds, RefuseASetThatDoesNotFit) {
  const LearnerPlan plan = GradientPlan();
  Random random(3);
  const auto reason = [&](const RoundContribution& one) {
    return ReasonOf(ApplyRounds(plan, EmptyState(plan, 3), SetOf({one}), 9).status());
  };
  const RoundContribution good = SomeSum(plan, 3, 0, 3, 0, random);
  EXPECT_EQ(reason(good), "");
  EXPECT_EQ(reason(SomeContribution(plan, 2, 0, "old", random)), reasons::kRoundSealed);
  EXPECT_EQ(reason(SomeContribution(DeltaPlan(), 3, 0, "other", random)), reasons::kPlanMismatch);
  RoundContribution bad = good;
  bad.members.clear();
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid) << "a lone node says that it is four";
  bad = good;
  bad.members[1] = bad.members[0];
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  bad = good;
  bad.contribution.units.pop_back();
  EXPECT_EQ(reason(bad), reasons::kUpdateInvalid);
  EXPECT_FALSE(ApplyRounds(plan, EmptyState(plan, 3), {}, 1).ok());
  GlobalState other = EmptyState(plan, 3);
  other.values.pop_back();
  EXPECT_FALSE(ApplyRounds(plan, other, {}, 9).ok());
}

// ---- The state's bytes

RC_GTEST_PROP(GlobalState, RefusesEveryTruncationAndIsHarmlessWithFlippedBits, ()) {
  LearnerPlan plan = *rc::gen::arbitrary<bool>() ? DeltaPlan() : GradientPlan();
  plan.values_per_bank = 3;
  Random random(*rc::gen::arbitrary<uint64_t>());
  const GlobalState state = After(
      plan, 2,
      {SomeContribution(plan, 1, 0, "one", random), SomeContribution(plan, 2, 1, "two", random)});
  const std::string bytes = EncodeState(state, plan);
  RC_ASSERT(*DecodeState(AsBytes(bytes), plan) == state);
  for (size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(!DecodeState(AsBytes(bytes).first(length), plan).ok());
  }
  RC_ASSERT(!DecodeState(AsBytes(bytes + '\0'), plan).ok());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = DecodeState(AsBytes(flipped), plan);
    if (decoded.ok()) {
      RC_ASSERT(EncodeState(*decoded, plan) == flipped);
      RC_ASSERT(decoded->DigestOf(plan) != state.DigestOf(plan));
    }
  }
}

TEST(GlobalState, OfAnotherPlanIsNamed) {
  const LearnerPlan plan = DeltaPlan();
  LearnerPlan other = plan;
  other.window = 3;
  const std::string bytes = EncodeState(EmptyState(plan, 1), plan);
  EXPECT_EQ(ReasonOf(DecodeState(AsBytes(bytes), other).status()), reasons::kPlanMismatch);
  EXPECT_NE(EmptyState(plan, 1).DigestOf(plan), EmptyState(other, 1).DigestOf(other));
  GlobalState future = EmptyState(plan, 1);
  future.last_part[LearnerNode(0)] = 1;
  EXPECT_FALSE(CheckState(future, plan).ok());
}

}  // namespace
}  // namespace ruvd::test
