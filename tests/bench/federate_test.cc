// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of the federation experiment that need no model: flags, shares and verdicts.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_figures.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_settings.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "node/config/config.h"
#include "node/process/learner_options.h"

namespace ruvd::bench {
namespace {

// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "federate-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// ---- Flags

const inference::CoreShape kShape{.modules = {{.target = "blk.0.attn_q.weight", .rank = 8}}};

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

// Returns the plan of a node with this configuration.
federation::LearnerPlan NodePlan(const config::NodeConfig& config) {
  return node::LearnerPlanOf(config, kShape).value();
}

TEST_F(FlagsTest, WhatIsLeftOutIsWhatANodeDoes) {
  ASSERT_EQ(Parse("--tier public"), 0);
  config::NodeConfig config;
  EXPECT_EQ(settings_.rank, config.federation.rank);
  EXPECT_EQ(settings_.rounds, config.privacy.rounds);
  config.federation.contributions = "delta";
  EXPECT_EQ(PlanOf(settings_, kShape, KindOf(settings_)).value().Id(), NodePlan(config).Id());
  ASSERT_EQ(Parse("--tier masked"), 0);
  config.federation.contributions = "gradient";
  EXPECT_EQ(PlanOf(settings_, kShape, KindOf(settings_)).value().Id(), NodePlan(config).Id());
}

TEST_F(FlagsTest, WhatIsGivenChangesThePlan) {
  ASSERT_EQ(Parse("--steps 3 --batch 17 --learning-rate 0.5 --rule median --strategy schedule "
                  "--outer momentum --outer-step 0.25 --outer-momentum 0.5"),
            0);
  const auto plan = PlanOf(settings_, kShape, KindOf(settings_)).value();
  EXPECT_EQ(plan.local.steps, 3U);
  EXPECT_EQ(plan.local.batch, 17U);
  EXPECT_EQ(plan.local.learning_rate, 0.5);
  EXPECT_EQ(plan.rule, "median");
  EXPECT_EQ(plan.strategy.strategy, federation::Strategy::kScheduleSimilarity);
  EXPECT_EQ(plan.outer.kind, federation::OuterOptions::Kind::kMomentum);
  EXPECT_EQ(plan.outer.step, 0.25);
  EXPECT_EQ(plan.outer.momentum, 0.5);
  settings_.rule = "no-such-rule";
  EXPECT_EQ(ReasonOf(PlanOf(settings_, kShape, KindOf(settings_)).status()),
            reasons::kInvalidArgument);
}

// The batch of a private tier is that of a sample, not that of the steps it is compared with.
TEST_F(FlagsTest, TheBatchOfAPrivateTierIsNotThatOfSteps) {
  ASSERT_EQ(Parse("--tier dp --batch 300"), 0);
  const auto open = PlanOf(settings_, kShape, federation::ContributionKind::kDelta).value();
  EXPECT_EQ(open.local.batch, federation::LearnerPlan().local.batch);
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
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.attack = "sign-flip";
  EXPECT_TRUE(CheckSettings(settings).ok());
  settings.attackers = 3;
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings.attack = "no-such-attack";
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings = {.nodes = 3, .tier = "masked"};
  EXPECT_EQ(ReasonOf(CheckSettings(settings)), reasons::kInvalidArgument);
  settings = {.nodes = 4, .tier = "masked"};
  EXPECT_TRUE(CheckSettings(settings).ok());
}

TEST(SettingsTest, AttacksGoByTheNamesOfTheIssueToo) {
  EXPECT_EQ(AttackOf("sign-flip").value(), UpdateAttack::kSignFlip3);
  EXPECT_EQ(AttackOf("ipm").value(), UpdateAttack::kInnerProduct);
  EXPECT_EQ(AttackOf("alie").value(), UpdateAttack::kAlie);
  EXPECT_FALSE(AttackOf("").ok());
}

class DomainsTest : public testing::Test {
 protected:
  DomainsTest() {
    for (const char* name : {"b", "a"}) {
      for (const char* part : {"train", "valid"}) {
        std::ofstream(Path(name) + "." + part + ".jsonl.zst") << "x";
      }
    }
    std::ofstream(Path("c") + ".train.jsonl.zst") << "x";
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  const TemporaryFolder folder_;
};

TEST_F(DomainsTest, AFolderGivesItsDomainsByName) {
  const auto files = ResolveDomains(std::vector{folder_.path()}, 2).value();
  EXPECT_EQ(files[0].name, "a");
  EXPECT_EQ(files[1].valid, Path("b") + ".valid.jsonl.zst");
}

TEST_F(DomainsTest, WhatIsMissingIsNamed) {
  const absl::Status status = ResolveDomains(std::vector{folder_.path()}, 3).status();
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

TEST(CacheTest, KeepsResultsBetweenRunsByTheirKeys) {
  const TemporaryFolder folder;
  const nlohmann::json key = {{"seed", 1}};
  ResultCache cache = ResultCache::Open(folder.path()).value();
  EXPECT_FALSE(cache.Find(key).has_value());
  ASSERT_TRUE(cache.Put(key, {1.5, 2.5}).ok());
  ResultCache again = ResultCache::Open(folder.path()).value();
  EXPECT_EQ(again.Find(key).value(), nlohmann::json({1.5, 2.5}));
  EXPECT_FALSE(again.Find({{"seed", 2}}).has_value());
  ResultCache memory = ResultCache::Open("").value();
  ASSERT_TRUE(memory.Put(key, 3).ok());
  EXPECT_EQ(memory.Find(key).value(), 3);
}

}  // namespace
}  // namespace ruvd::bench
