// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of the federation experiment that need no model: flags, shares, verdicts, what is
// charged for noised gradients, and how updates leave their nodes.

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_examples.h"
#include "bench/experiments/federate_figures.h"
#include "bench/experiments/federate_release.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_texts.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/reasons.h"

namespace ruvd::bench {
namespace {

// ---- Flags

class FlagsTest : public testing::Test {
 protected:
  // Returns the exit status of parsing; 0 means success.
  int Parse(const std::string& flags) {
    CLI::App app;
    AddFederateFlags(&app, &settings_);
    const auto parse = [&] {
      CLI11_PARSE(app, "federate --domains d --frame f --eval e " + flags, true);
      return 0;
    };
    return parse();
  }
  FederateSettings settings_;
};

TEST_F(FlagsTest, WhatIsLeftOutSuitsTheTier) {
  ASSERT_EQ(Parse("--tier dp"), 0);
  FillDefaults(&settings_);
  EXPECT_EQ(settings_.budget.steps, 1);
  EXPECT_EQ(settings_.outer, "adam");
  EXPECT_LT(settings_.outer_step, 0.1);
  EXPECT_EQ(settings_.clip, 2);
  settings_ = {};
  ASSERT_EQ(Parse("--tier dp --unit node"), 0);
  FillDefaults(&settings_);
  EXPECT_EQ(settings_.budget.steps, settings_.baseline.steps);
  EXPECT_EQ(settings_.outer, "plain");
  EXPECT_EQ(settings_.outer_step, 1);
  EXPECT_EQ(settings_.clip, 0.4);
}

TEST_F(FlagsTest, WhatIsGivenStays) {
  ASSERT_EQ(Parse("--tier dp --rounds 3 --batch 17 --outer plain --clip 0.5 --domains a,b "
                  "--boundaries 0.3,0.6"),
            0);
  FillDefaults(&settings_);
  EXPECT_EQ(settings_.budget.rounds, 3);
  EXPECT_EQ(settings_.budget.batch, 17);
  EXPECT_EQ(settings_.outer, "plain");
  EXPECT_EQ(settings_.clip, 0.5);
  EXPECT_EQ(settings_.boundaries, (std::vector<float>{0.3F, 0.6F}));
}

TEST_F(FlagsTest, WhatIsNoValueIsRefused) {
  EXPECT_NE(Parse("--tier secret"), 0);
  EXPECT_NE(Parse("--nodes 1"), 0);
  EXPECT_NE(Parse("--epsilon 0"), 0);
  EXPECT_NE(Parse("--sequences 5000"), 0);
  EXPECT_NE(Parse("--no-such-flag"), 0);
}

TEST(SettingsTest, WhatDoesNotGoTogetherIsRefused) {
  FederateSettings settings;
  FillDefaults(&settings);
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.attack = "sign-flip";
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.attackers = 3;
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings.attack = "no-such-attack";
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings = {.nodes = 3, .tier = "masked"};
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings = {.boundaries = {0.6F, 0.3F}};
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings = {.tier = "dp"};
  settings.budget.batch = 100;
  settings.sequences = 99;
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
}

TEST(SettingsTest, AttacksGoByTheNamesOfTheIssueToo) {
  EXPECT_EQ(AttackOf("sign-flip").value(), UpdateAttack::kSignFlip3);
  EXPECT_EQ(AttackOf("ipm").value(), UpdateAttack::kInnerProduct);
  EXPECT_EQ(AttackOf("alie").value(), UpdateAttack::kAlie);
  EXPECT_FALSE(AttackOf("").ok());
}

class DomainsTest : public testing::Test {
 protected:
  DomainsTest() : folder_(TemporaryFolder::Create().value()) {
    for (const char* name : {"b", "a"}) {
      for (const char* part : {"train", "valid"}) {
        std::ofstream(Path(name) + "." + part + ".jsonl.zst") << "x";
      }
    }
    std::ofstream(Path("c") + ".train.jsonl.zst") << "x";
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(DomainsTest, AFolderGivesItsDomainsByName) {
  const auto files = ResolveDomains(std::vector{folder_->path()}, 2).value();
  EXPECT_EQ(files[0].name, "a");
  EXPECT_EQ(files[1].valid, Path("b") + ".valid.jsonl.zst");
}

TEST_F(DomainsTest, WhatIsMissingIsNamed) {
  const absl::Status status = ResolveDomains(std::vector{folder_->path()}, 3).status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_NE(MessageOf(status).find("c.valid"), std::string::npos);
  EXPECT_EQ(ReasonOf(ResolveDomains(std::vector{Path("a")}, 2).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(ResolveDomains(std::vector{Path("a"), Path("a")}, 2).status()),
            reasons::kInvalidArgument);
}

// ---- Figures

PairedPieces Pieces(size_t documents, double part, double whole) {
  PairedPieces pieces;
  for (size_t document = 0; document < documents; ++document) {
    const double off = document % 2 == 0 ? 0.5 : -0.5;
    for (int piece = 0; piece < 3; ++piece) {
      pieces.part.push_back(part + off);
      pieces.whole.push_back(whole + off);
      pieces.documents.push_back(document);
    }
  }
  return pieces;
}

TEST(ShareTest, IsTheRatioOfMeansWhereDomainsCountAlike) {
  const std::vector<PairedPieces> domains = {Pieces(40, 4, 4), Pieces(8, 1, 6)};
  const Interval share = ShareOf(domains);
  EXPECT_NEAR(share.mean, 0.5, 1e-12);
  EXPECT_LT(share.low, 0.5);
  EXPECT_GT(share.high, 0.5);
  EXPECT_GT(share.low, 0.4);
  EXPECT_LT(share.high, 0.6);
}

TEST(ShareTest, OfNothingIsNoNumber) {
  const std::vector<PairedPieces> domains = {Pieces(8, 1, -1)};
  EXPECT_TRUE(std::isnan(ShareOf(domains).mean));
  EXPECT_TRUE(std::isnan(ShareOf({}).mean));
}

TEST(ShareTest, FewDocumentsAndUncertainWholesHaveNoBounds) {
  const std::vector<PairedPieces> few = {Pieces(kMinDocuments - 1, 1, 2)};
  EXPECT_EQ(ShareOf(few).mean, 0.5);
  EXPECT_EQ(ShareOf(few).high, std::numeric_limits<double>::infinity());
  const std::vector<PairedPieces> uncertain = {Pieces(8, 0.05, 0.1)};
  EXPECT_EQ(ShareOf(uncertain).low, -std::numeric_limits<double>::infinity());
}

TEST(VerdictTest, SaysHowMuchOfTheIntervalIsWhereItShouldBe) {
  const Expectation at_least{.what = "share", .bound = 0.85};
  EXPECT_EQ(Judge(at_least, {.mean = 0.9, .low = 0.86, .high = 1}), Verdict::kShown);
  EXPECT_EQ(Judge(at_least, {.mean = 0.9, .low = 0.8, .high = 1}), Verdict::kMet);
  EXPECT_EQ(Judge(at_least, {.mean = 0.8, .low = 0.7, .high = 0.9}), Verdict::kMissed);
  EXPECT_EQ(Judge(at_least, {.mean = 0.8, .low = 0.7, .high = 0.84}), Verdict::kRefuted);
  EXPECT_EQ(Judge(at_least, {.mean = NAN}), Verdict::kUndecided);
  const Expectation at_most{.what = "cost", .bound = 0, .at_least = false};
  EXPECT_EQ(Judge(at_most, {.mean = 0, .low = 0, .high = 0}), Verdict::kShown);
  EXPECT_EQ(Judge(at_most, {.mean = 0.1, .low = -0.1, .high = 0.2}), Verdict::kMissed);
  EXPECT_EQ(Judge(at_most, {.mean = 0.1, .low = 0.05, .high = 0.2}), Verdict::kRefuted);
  EXPECT_EQ(VerdictLine(at_least, {.mean = 0.9, .low = 0.86, .high = 1}),
            "verdict: share: met by the whole interval, 0.900 (0.860 to 1.000), expected at least "
            "0.85");
}

TEST(GainTest, ErrorsGrowWithPiecesOfOneDocument) {
  Scores current;
  Scores candidate;
  std::vector<size_t> single;
  std::vector<size_t> paired;
  for (size_t i = 0; i < 12; ++i) {
    current.nats.push_back(4);
    candidate.nats.push_back(4 - (i % 4 < 2 ? 0.3 : 0.1));
    single.push_back(i);
    paired.push_back(i / 2);
  }
  const federation::BankScore apart = GainOf(current, candidate, single);
  const federation::BankScore together = GainOf(current, candidate, paired);
  EXPECT_NEAR(apart.gain, 0.2, 1e-12);
  EXPECT_EQ(together.documents, 6U);
  EXPECT_GT(together.standard_error, 1.3 * apart.standard_error);
}

TEST(CacheTest, KeepsResultsBetweenRunsByTheirKeys) {
  const auto folder = TemporaryFolder::Create().value();
  const nlohmann::json key = {{"seed", 1}};
  ResultCache cache = ResultCache::Open(folder->path()).value();
  EXPECT_FALSE(cache.Find(key).has_value());
  ASSERT_TRUE(cache.Put(key, {1.5, 2.5}).ok());
  ResultCache again = ResultCache::Open(folder->path()).value();
  EXPECT_EQ(again.Find(key).value(), nlohmann::json({1.5, 2.5}));
  EXPECT_FALSE(again.Find({{"seed", 2}}).has_value());
  ResultCache memory = ResultCache::Open("").value();
  ASSERT_TRUE(memory.Put(key, 3).ok());
  EXPECT_EQ(memory.Find(key).value(), 3);
}

// A gate that judged by the text that was trained on would pass anything.
TEST(SplitTest, NoDocumentIsTrainedOnAndHeldOut) {
  Crops all;
  for (size_t i = 0; i < 200; ++i) {
    all.pieces.push_back({.prompt = {}, .completion = {static_cast<inference::TokenId>(i)}});
    all.documents.push_back(i / 4);
  }
  const SplitPieces split = SplitByDocument(all, {.train = 30, .held_out = 9}).value();
  EXPECT_EQ(split.train.pieces.size(), 30U);
  EXPECT_EQ(split.held_out.pieces.size(), 9U);
  for (const size_t held : split.held_out.documents) {
    EXPECT_EQ(std::ranges::count(split.train.documents, held), 0);
  }
  all.documents.assign(200, 0);
  EXPECT_FALSE(SplitByDocument(all, {}).ok());
}

// ---- What noised gradients cost

TEST(ChargeTest, StepsCostTheSameTogetherAndOneByOne) {
  const privacy::dp::SampledGaussian once{.q = 0.05, .sigma = 0.8, .steps = 1};
  privacy::dp::SampledGaussian all = once;
  all.steps = 30;
  privacy::dp::RdpCurve sum = ChargeOf(once, 1e-5).value().curve;
  sum *= 30;
  const privacy::LedgerCharge charge = ChargeOf(all, 1e-5).value();
  EXPECT_EQ(charge.curve, sum);
  EXPECT_EQ(charge.rho_q32, 0U);
  EXPECT_EQ(charge.epsilon, privacy::dp::EpsilonOf(sum, 1e-5).value().value);
  EXPECT_LT(charge.epsilon, 30 * ChargeOf(once, 1e-5).value().epsilon);
}

// One rho that covers the curve would need a sigma of 0.691.
TEST(ChargeTest, ACurveNeedsLessNoiseThanOneRho) {
  const double sigma = privacy::dp::NoiseMultiplierWithin(8, 1e-5, 0.064, 8).value();
  EXPECT_NEAR(sigma, 0.601, 0.001);
}

FederateSettings ExampleSettings() {
  FederateSettings settings{.tier = "dp"};
  FillDefaults(&settings);
  return settings;
}

TEST(PlanTest, StaysWithinTheBudgetOfTheLedger) {
  const FederateSettings settings = ExampleSettings();
  const ExamplePlan plan = PlanExamples(settings, 2000, 6, 1792).value();
  EXPECT_LE(plan.charge.epsilon, settings.epsilon);
  EXPECT_GT(plan.charge.epsilon, 0.97 * settings.epsilon);
  EXPECT_EQ(plan.charge.steps, 8U);
  EXPECT_GT(plan.snr, 1);
}

TEST(PlanTest, WhatNoiseWouldBuryIsRefusedWithTheFigure) {
  FederateSettings settings = ExampleSettings();
  settings.budget = {.rounds = 60, .steps = 1, .batch = 8};
  const absl::Status status = PlanExamples(settings, 2000, 6, 1792).status();
  EXPECT_EQ(ReasonOf(status), reasons::kSignalTooWeak);
  EXPECT_NE(MessageOf(status).find("allow a larger epsilon"), std::string::npos);
}

// ---- How updates leave a node

class ReleaseTest : public testing::Test {
 protected:
  static constexpr size_t kNodes = 4;

  ReleaseTest() : folder_(TemporaryFolder::Create().value()) {
    format_.rules.modules = {{.target = "blk.0.attn_q.weight", .rows = 2, .columns = 2}};
  }
  void MakeNodes(privacy::ConsentTier tier, privacy::PrivacyUnit unit) {
    for (size_t node = 0; node < kNodes; ++node) {
      nodes_.push_back(
          GuardedNode::Create(folder_->path(), node,
                              {.tier = tier,
                               .budget = privacy::UnitBudget::Within(unit, kEpsilon, 1e-5).value(),
                               .noise_seed = 5})
              .value());
    }
  }
  static std::vector<LocalChange> Changes() {
    std::vector<LocalChange> changes;
    for (size_t node = 0; node < kNodes; ++node) {
      changes.push_back({.node = node, .delta = {{0.2F, -0.1F, 0.1F, 0.05F}}});
    }
    return changes;
  }
  FederateSettings NodeSettings(const std::string& tier) const {
    FederateSettings settings{.nodes = kNodes, .tier = tier, .unit = "node", .epsilon = kEpsilon};
    settings.budget = {.rounds = 2, .steps = 1, .batch = 1};
    FillDefaults(&settings);
    return settings;
  }

  static constexpr double kEpsilon = 30;
  std::unique_ptr<TemporaryFolder> folder_;
  UpdateFormat format_;
  GuardedNodes nodes_;
};

TEST_F(ReleaseTest, PublicUpdatesArriveAsTheyAre) {
  MakeNodes(privacy::ConsentTier::kPublic, privacy::PrivacyUnit::kNode);
  const ReleasedRound round = MakePublicRelease(format_, nodes_)->Release(3, Changes()).value();
  ASSERT_EQ(round.updates.size(), kNodes);
  EXPECT_EQ(round.updates[1].origin, nodes_[1]->id());
  EXPECT_EQ(round.updates[1].update.round, 3U);
  EXPECT_EQ(round.updates[1].update.banks[0].values, Changes()[1].delta[0]);
  EXPECT_GT(round.bytes[1], 16U);
}

TEST_F(ReleaseTest, NoisedGradientsArePaidForAtOnceAndOnce) {
  MakeNodes(privacy::ConsentTier::kDp, privacy::PrivacyUnit::kLesson);
  FederateSettings settings = ExampleSettings();
  settings.epsilon = kEpsilon / 2;
  const ExamplePlan plan = PlanExamples(settings, 2000, kNodes, 4).value();
  const auto release = MakeExampleRelease(format_, nodes_, kNodes, plan).value();
  EXPECT_EQ(nodes_[0]->ledger().counter().lessons.for_all, plan.charge.curve);
  EXPECT_TRUE(release->Release(0, Changes()).ok());
  EXPECT_LE(release->Spent().value().epsilon, settings.epsilon);
}

TEST_F(ReleaseTest, UpdatesOfNodesAreNoisedAndCharged) {
  MakeNodes(privacy::ConsentTier::kDp, privacy::PrivacyUnit::kNode);
  const NodePlan plan = PlanNodes(NodeSettings("dp"), format_, 1, 0).value();
  const auto release = MakeNodeRelease(format_, nodes_, plan);
  const ReleasedRound round = release->Release(0, Changes()).value();
  ASSERT_EQ(round.updates.size(), kNodes);
  EXPECT_NE(round.updates[0].update.banks[0].values, Changes()[0].delta[0]);
  EXPECT_TRUE(release->Release(1, Changes()).ok());
  EXPECT_LE(release->Spent().value().epsilon, kEpsilon);
  EXPECT_EQ(ReasonOf(release->Release(2, Changes()).status()), reasons::kPrivacyBudgetSpent);
}

TEST_F(ReleaseTest, OfAMaskedCliqueOnlyTheMeanIsSeen) {
  MakeNodes(privacy::ConsentTier::kMasked, privacy::PrivacyUnit::kNode);
  const NodePlan plan = PlanNodes(NodeSettings("masked"), format_, 1, kNodes).value();
  const auto release = MakeMaskedRelease(format_, nodes_, plan);
  const ReleasedRound round = release->Release(0, Changes()).value();
  ASSERT_EQ(round.updates.size(), 1U);
  const std::vector<float>& mean = round.updates[0].update.banks[0].values;
  const double deviation =
      0.4 * plan.layout.grid.NoiseMultiplier() * std::sqrt(4.0 / 3) / static_cast<double>(kNodes);
  for (size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i], Changes()[0].delta[0][i], 6 * deviation);
  }
  EXPECT_TRUE(release->Release(1, Changes()).ok());
  EXPECT_LE(release->Spent().value().epsilon, kEpsilon);
}

}  // namespace
}  // namespace ruvd::bench
