// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "base/status.h"
#include "inference/sampler/commit_rule.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Proposal ProposalAt(int position, float confidence, float margin = 0, float entropy = 0) {
  return {.position = position, .confidence = confidence, .margin = margin, .entropy = entropy};
}

// Returns the positions that `rule` commits from `proposals` in the first of `steps` steps.
std::vector<int> Chosen(CommitRule& rule, const std::vector<Proposal>& proposals, int steps,
                        uint64_t seed = 1) {
  std::vector<int> masked;
  for (const Proposal& proposal : proposals) {
    masked.push_back(proposal.position);
  }
  const EvenSchedule schedule(steps);
  Random random(seed);
  std::vector<int> positions;
  for (const size_t i :
       rule.Choose({.masked = masked, .committed = {}, .schedule = schedule}, proposals, random)) {
    positions.push_back(proposals[i].position);
  }
  return positions;
}

std::vector<int> Chosen(const CommitRuleOptions& options, const std::vector<Proposal>& proposals,
                        int steps, uint64_t seed = 1) {
  return Chosen(*MakeCommitRule(options), proposals, steps, seed);
}

const std::vector<Proposal> kThree = {ProposalAt(2, 0.5F, 0.4F, 0.9F),
                                      ProposalAt(3, 0.9F, 0.3F, 0.3F),
                                      ProposalAt(4, 0.5F, 0.1F, 0.2F)};

TEST(RankedRuleTest, OrdersBestFirstWithTiesToTheLowerPosition) {
  EXPECT_THAT(Chosen({.kind = SamplerKind::kLowConfidence}, kThree, 1), ElementsAre(3, 2, 4));
  EXPECT_THAT(Chosen({.kind = SamplerKind::kMargin}, kThree, 1), ElementsAre(2, 3, 4));
  EXPECT_THAT(Chosen({.kind = SamplerKind::kLowConfidence}, kThree, 2), ElementsAre(3, 2));
}

// llama.cpp commits the most uncertain positions first.
TEST(PeerDefectTest, LowestEntropyComesFirst) {
  EXPECT_THAT(Chosen({.kind = SamplerKind::kEntropy}, kThree, 1), ElementsAre(4, 3, 2));
}

// llama.cpp draws with replacement and leaves masks behind.
TEST(PeerDefectTest, PositionTemperatureDrawsWithoutReplacement) {
  std::vector<Proposal> proposals;
  for (int i = 0; i < 32; ++i) {
    proposals.push_back(ProposalAt(i, static_cast<float>(i) / 40.0F));
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<int> chosen = Chosen(
        {.kind = SamplerKind::kLowConfidence, .position_temperature = 0.3F}, proposals, 4, seed);
    EXPECT_EQ(std::set<int>(chosen.begin(), chosen.end()).size(), 8U);
  }
}

TEST(RankedRuleTest, PositionTemperatureDrawsFromTheSoftmaxOfScores) {
  const std::vector<Proposal> proposals = {ProposalAt(0, 0.2F), ProposalAt(1, 0.6F)};
  int second = 0;
  constexpr int kDraws = 4000;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    second += Chosen({.kind = SamplerKind::kLowConfidence, .position_temperature = 0.5F}, proposals,
                     2, seed)[0];
  }
  const double p = 1 / (1 + std::exp(-0.4 / 0.5));
  EXPECT_NEAR(second, kDraws * p, 6 * std::sqrt(kDraws * p * (1 - p)));
}

TEST(ThresholdRuleTest, TakesAllAboveButAtLeastOne) {
  const std::vector<Proposal> proposals = {ProposalAt(0, 0.2F), ProposalAt(1, 0.9F),
                                           ProposalAt(2, 0.7F)};
  const auto chosen = [&](float threshold) {
    return Chosen({.kind = SamplerKind::kThreshold, .threshold = threshold}, proposals, 3);
  };
  EXPECT_THAT(chosen(0.7F), ElementsAre(1, 2));
  EXPECT_THAT(chosen(0.1F), ElementsAre(1, 2, 0));
  EXPECT_THAT(chosen(0.99F), ElementsAre(1));
}

TEST(FactorRuleTest, TakesTheLargestNumberWithinTheFactor) {
  // The values (n + 1)(1 - c_n) are 0.2, 0.6 and 2.0.
  const std::vector<Proposal> proposals = {ProposalAt(0, 0.9F), ProposalAt(1, 0.8F),
                                           ProposalAt(2, 0.5F)};
  EXPECT_THAT(Chosen({.kind = SamplerKind::kFactor, .factor = 1.0F}, proposals, 3),
              ElementsAre(0, 1));
  EXPECT_THAT(Chosen({.kind = SamplerKind::kFactor, .factor = 0.1F}, proposals, 3), ElementsAre(0));
}

TEST(EntropyBoundedRuleTest, TakesTheLongestPrefixWithinTheBound) {
  const std::vector<Proposal> proposals = {ProposalAt(0, 0, 0, 0.5F), ProposalAt(1, 0, 0, 0.1F),
                                           ProposalAt(2, 0, 0, 0.2F)};
  // The sorted values are 0.1, 0.2, 0.5; sum - max is 0, 0.1, 0.3.
  const auto chosen = [&](float bound) {
    return Chosen({.kind = SamplerKind::kEntropyBounded, .entropy_bound = bound}, proposals, 3);
  };
  EXPECT_THAT(chosen(0.0F), ElementsAre(1));
  EXPECT_THAT(chosen(0.15F), ElementsAre(1, 2));
  EXPECT_THAT(chosen(0.31F), ElementsAre(1, 2, 0));
}

TEST(KlassRuleTest, WantsConfidenceAndStability) {
  const auto rule = MakeCommitRule(
      {.kind = SamplerKind::kKlass, .threshold = 0.6F, .stability_kl = 0.1F, .stability_steps = 2});
  const auto proposals = [](float first, float second) {
    std::vector<Proposal> two = {ProposalAt(0, 0.7F), ProposalAt(1, 0.9F)};
    two[0].movement = first;
    two[1].movement = second;
    return two;
  };
  EXPECT_THAT(Chosen(*rule, proposals(0.01F, 0.01F), 2), ElementsAre(1));  // once is not enough
  EXPECT_THAT(Chosen(*rule, proposals(0.01F, 0.5F), 2), ElementsAre(0));
  EXPECT_THAT(Chosen(*rule, proposals(0.01F, 0.01F), 2), ElementsAre(0));
  EXPECT_THAT(Chosen(*rule, proposals(0.01F, 0.01F), 2), ElementsAre(1, 0));
}

// Found by review: stable positions were dropped where the schedule wanted more of them.
TEST(KlassRuleTest, TakesAllStableOnesFirstAndFillsUpByConfidence) {
  const auto rule = MakeCommitRule(
      {.kind = SamplerKind::kKlass, .threshold = 0.6F, .stability_kl = 0.1F, .stability_steps = 1});
  std::vector<Proposal> proposals = {ProposalAt(0, 0.99F), ProposalAt(1, 0.7F), ProposalAt(2, 0.3F),
                                     ProposalAt(3, 0.98F)};
  proposals[1].movement = 0.01F;
  EXPECT_THAT(Chosen(*rule, proposals, 2), ElementsAre(1, 0));
  EXPECT_THAT(Chosen(*rule, proposals, 1), ElementsAre(1, 0, 3, 2));
}

struct Walk {
  std::set<int> committed;
  std::vector<std::vector<int>> remasked;  // by step
  std::vector<size_t> evaluated;           // by step
  int prepared = 0;                        // steps that the rule was asked for
};

// Runs all steps of a rule on `masks` positions, committing whatever it evaluates and chooses.
Walk WalkThrough(const CommitRuleOptions& options, int masks, int steps, uint64_t seed) {
  const auto rule = MakeCommitRule(options);
  rule->EnterScope();
  const EvenSchedule schedule(steps);
  Random random(seed);
  Walk walk;
  for (int step = 0; step < steps; ++step) {
    std::vector<int> masked;
    for (int i = 0; i < masks; ++i) {
      if (!walk.committed.contains(i)) {
        masked.push_back(i);
      }
    }
    const std::vector<int> committed(walk.committed.begin(), walk.committed.end());
    CommitScope scope = {
        .masked = masked, .committed = committed, .step = step, .schedule = schedule};
    const CommitRule::Intent intent = rule->Prepare(scope, random);
    RUVD_CHECK(intent.step >= step && intent.step < steps);
    ++walk.prepared;
    scope.step = step = intent.step;
    walk.remasked.resize(static_cast<size_t>(step));  // steps that did nothing
    walk.evaluated.resize(static_cast<size_t>(step));
    walk.evaluated.push_back(intent.evaluate.size());
    std::vector<Proposal> proposals;
    for (const int position : intent.evaluate) {
      RUVD_CHECK(!walk.committed.contains(position));
      proposals.push_back(ProposalAt(position, static_cast<float>(position) / 100.0F));
    }
    if (!proposals.empty()) {
      for (const size_t i : rule->Choose(scope, proposals, random)) {
        RUVD_CHECK(walk.committed.insert(proposals[i].position).second);
      }
    }
    for (const int position : intent.remask) {
      RUVD_CHECK(walk.committed.erase(position) == 1);
    }
    walk.remasked.push_back(intent.remask);
  }
  return walk;
}

constexpr int kKinds = 11;

RC_GTEST_PROP(CommitRuleTest, EveryRuleCommitsEveryMask, (uint64_t seed)) {
  const auto kind = static_cast<SamplerKind>(*rc::gen::inRange(0, kKinds));
  const auto remask = static_cast<RemaskKind>(*rc::gen::inRange(0, 3));
  const int masks = *rc::gen::inRange(1, 40);
  const int steps = *rc::gen::inRange(1, 60);
  const CommitRuleOptions options = {.kind = kind, .remask = remask, .remask_strength = 0.3F};
  const Walk walk = WalkThrough(options, masks, steps, seed);
  RC_ASSERT(walk.committed.size() == static_cast<size_t>(masks));
  RC_ASSERT(walk.remasked.back().empty());
  RC_ASSERT(WalkThrough(options, masks, steps, seed).evaluated == walk.evaluated);
}

// Found by review: with a million steps the engine kept looping through steps that do nothing.
TEST(CommitRuleTest, StepsThatDoNothingArePassedOver) {
  constexpr int kManySteps = 1 << 14;
  for (int kind = 0; kind < kKinds; ++kind) {
    const CommitRuleOptions options = {.kind = static_cast<SamplerKind>(kind),
                                       .remask_strength = 1e-6F};
    EXPECT_LE(WalkThrough(options, 20, kManySteps, 1).prepared, 23) << kind;
  }
}

// A position that the schedule chooses blindly does not need the logits of other positions.
TEST(BlindRuleTest, EvaluatesOnlyWhatItCommits) {
  for (const SamplerKind kind : {SamplerKind::kRandom, SamplerKind::kPosition}) {
    EXPECT_THAT(WalkThrough({.kind = kind}, 8, 4, 1).evaluated, ElementsAre(2, 2, 2, 2));
  }
}

TEST(BlindRuleTest, PositionGoesFromLeftToRight) {
  const auto rule = MakeCommitRule({.kind = SamplerKind::kPosition});
  const EvenSchedule schedule(2);
  Random random(1);
  const std::vector<int> masked = {3, 5, 8};
  EXPECT_THAT(
      rule->Prepare({.masked = masked, .committed = {}, .schedule = schedule}, random).evaluate,
      ElementsAre(3, 5));
}

// llama.cpp's origin draws with floor(k) / masked, which is 0 with more steps than masks; ours
// reveals each mask with probability 1 - s/t: uniformly over the steps.
TEST(PeerDefectTest, AncestralRevealsUniformlyOverTheSteps) {
  constexpr int kSteps = 10;
  constexpr int kRuns = 4000;
  std::vector<double> revealed(kSteps);
  size_t idle = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const Walk walk = WalkThrough({.kind = SamplerKind::kAncestral}, 3, kSteps, seed);
    for (size_t step = 0; step < kSteps; ++step) {
      revealed[step] += static_cast<double>(walk.evaluated[step]);
      idle += walk.evaluated[step] == 0 ? 1 : 0;
    }
  }
  for (const double count : revealed) {
    EXPECT_NEAR(count, 3.0 * kRuns / kSteps, 6 * std::sqrt(3.0 * kRuns * 0.1 * 0.9));
  }
  // A step is idle, and free, with probability 0.9^3.
  EXPECT_NEAR(static_cast<double>(idle), kRuns * kSteps * 0.729, 6 * std::sqrt(kRuns * kSteps));
}

// ReMDM keeps the marginals of the process: at time s a position is masked with probability s (cap
// and rescale).
TEST(RemdmRuleTest, KeepsTheMarginals) {
  for (const RemaskKind remask : {RemaskKind::kCap, RemaskKind::kRescale}) {
    constexpr int kSteps = 8;
    constexpr int kRuns = 3000;
    constexpr int kMasks = 4;
    std::vector<double> masked(kSteps);
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      const Walk walk =
          WalkThrough({.kind = SamplerKind::kRemdm, .remask = remask, .remask_strength = 0.2F},
                      kMasks, kSteps, seed);
      double now = kMasks;
      for (size_t step = 0; step < kSteps; ++step) {
        now += static_cast<double>(walk.remasked[step].size()) -
               static_cast<double>(walk.evaluated[step]);
        masked[step] += now;
      }
    }
    for (size_t step = 0; step < kSteps; ++step) {
      const double s = 1.0 - static_cast<double>(step + 1) / kSteps;
      EXPECT_NEAR(masked[step], s * kMasks * kRuns, 6 * std::sqrt(kMasks * kRuns * 0.25)) << step;
    }
  }
}

TEST(SamplerNameTest, NamesAndKindsAreOneToOne) {
  for (int i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<SamplerKind>(i);
    EXPECT_EQ(SamplerByName(SamplerName(kind)), kind);
  }
  EXPECT_EQ(SamplerByName("greedy"), std::nullopt);
  EXPECT_EQ(RemaskByName("rescale"), RemaskKind::kRescale);
  EXPECT_EQ(RemaskByName(""), std::nullopt);
}

}  // namespace
}  // namespace ruvd::inference
