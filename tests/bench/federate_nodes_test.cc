// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the parts of the experiment with processes that need none: flags, when rounds have passed,
// how texts become files, and the figures.

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_nodes_report.h"
#include "bench/experiments/federate_nodes_settings.h"
#include "bench/experiments/node_groups.h"
#include "bench/experiments/node_processes.h"
#include "bench/experiments/node_texts.h"

namespace ruvd::bench {
namespace {

std::string ThisProgram() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

// ---- Flags

class NodesFlagsTest : public testing::Test {
 protected:
  NodesFlagsTest() {
    settings_.ruvd = ThisProgram();
    settings_.model = ThisProgram();
  }
  // Returns the exit status of parsing; 0 means success.
  int Parse(const std::string& flags) {
    CLI::App app;
    AddFederateNodesFlags(&app, &settings_);
    const auto parse = [&] {
      CLI11_PARSE(app, "federate_nodes --domains d " + flags, true);
      return 0;
    };
    return parse();
  }
  FederateNodesSettings settings_;
};

TEST_F(NodesFlagsTest, TheKindOfRoundsSuitsTheTier) {
  ASSERT_EQ(Parse("--tier public"), 0);
  ASSERT_TRUE(Complete(&settings_).ok());
  EXPECT_EQ(settings_.kind, "delta");
  EXPECT_FALSE(ComparesWithoutNoise(settings_));
  settings_.kind = "";
  ASSERT_EQ(Parse("--tier dp"), 0);
  ASSERT_TRUE(Complete(&settings_).ok());
  EXPECT_EQ(settings_.kind, "gradient");
  EXPECT_TRUE(ComparesWithoutNoise(settings_));
}

TEST_F(NodesFlagsTest, WhatDoesNotGoTogetherIsRefused) {
  ASSERT_EQ(Parse("--tier dp --kind delta"), 0);
  EXPECT_EQ(ReasonOf(Complete(&settings_)), reasons::kInvalidArgument);
  settings_.kind = "";
  ASSERT_EQ(Parse("--tier masked --nodes 3"), 0);
  EXPECT_EQ(ReasonOf(Complete(&settings_)), reasons::kInvalidArgument);
  ASSERT_EQ(Parse("--tier masked --nodes 4"), 0);
  EXPECT_TRUE(Complete(&settings_).ok());
}

TEST_F(NodesFlagsTest, ALiarNeedsATierThatShowsItAndEnoughMembers) {
  settings_.lying_node = ThisProgram();
  ASSERT_EQ(Parse("--tier dp --attack sign-flip"), 0);
  ASSERT_TRUE(Complete(&settings_).ok());
  EXPECT_TRUE(IsAttacked(settings_));
  EXPECT_FALSE(ComparesWithoutNoise(settings_));
  settings_.lying_node = "/nowhere/lying_node";
  const absl::Status missing = Complete(&settings_);
  EXPECT_EQ(ReasonOf(missing), reasons::kFileNotFound);
  EXPECT_NE(MessageOf(missing).find("--lying-node"), std::string::npos) << missing;
  for (const char* flags : {"--tier masked --attack alie", "--tier dp --attack copies",
                            "--tier dp --attack gossip", "--tier dp --attack ipm --nodes 3"}) {
    ASSERT_EQ(Parse(flags), 0);
    const absl::Status refused = Complete(&settings_);
    EXPECT_EQ(ReasonOf(refused), reasons::kInvalidArgument) << flags;
    EXPECT_NE(MessageOf(refused).find("--attack"), std::string::npos) << refused;
  }
}

TEST_F(NodesFlagsTest, WhatIsMissingIsNamedBeforeTheStart) {
  settings_.ruvd = "/nowhere/ruvd";
  ASSERT_EQ(Parse(""), 0);
  const absl::Status missing = Complete(&settings_);
  EXPECT_EQ(ReasonOf(missing), reasons::kFileNotFound);
  EXPECT_NE(MessageOf(missing).find("--ruvd"), std::string::npos) << missing;
  settings_.ruvd = ThisProgram();
  settings_.keep = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(ReasonOf(Complete(&settings_)), reasons::kInvalidArgument);
}

TEST_F(NodesFlagsTest, NodesGetTheRoundsAndWhatIsSet) {
  ASSERT_EQ(Parse("--round-seconds 7 --set privacy.clip_norm=2 --set privacy.scope=a=b"), 0);
  const auto settings = NodeSettingsOf(settings_, "delta");
  ASSERT_TRUE(settings.ok()) << settings.status();
  const NodeSettings expected = {{"federation.round_seconds", "7"},
                                 {"federation.contributions", "delta"},
                                 {"inference.threads", "1"},
                                 {"privacy.clip_norm", "2"},
                                 {"privacy.scope", "a=b"}};
  EXPECT_EQ(*settings, expected);
  settings_.set = {};
  settings_.rounds = 12;
  const auto noised = NodeSettingsOf(settings_, "gradient");
  ASSERT_TRUE(noised.ok()) << noised.status();
  const NodeSettings privacy = {
      {"privacy.epsilon", "8"}, {"privacy.delta", "1e-05"}, {"privacy.rounds", "12"}};
  EXPECT_EQ(NodeSettings(noised->end() - 3, noised->end()), privacy);
  settings_.users = 200;
  EXPECT_EQ(NodeSettingsOf(settings_, "gradient")->back(),
            (std::pair<std::string, std::string>("privacy.unit", "user")));
  settings_.set = {"privacy.clip_norm"};
  EXPECT_EQ(ReasonOf(NodeSettingsOf(settings_, "delta").status()), reasons::kInvalidArgument);
}

// ---- Rounds

TEST(RoundsPassedTest, EveryNodeContributedOrHadTimeForLateContributions) {
  const RoundsView done{.round = 14, .last_round = 13};
  const RoundsView early{.round = 13, .last_round = 13};
  const RoundsView lagging{.round = 14, .last_round = 12};
  const RoundsView silent{.round = 30, .last_round = 0};
  EXPECT_TRUE(RoundsPassed(std::vector{done, done}, 10, 4));
  EXPECT_FALSE(RoundsPassed(std::vector{done, early}, 10, 4));
  EXPECT_FALSE(RoundsPassed(std::vector{done, lagging}, 10, 4));
  EXPECT_TRUE(RoundsPassed(std::vector{done, silent}, 10, 4));
}

TEST(AgreeTest, OneDigestOfOneRound) {
  const RoundsView state{.state_round = 5, .state_digest = "aa"};
  const RoundsView other{.state_round = 5, .state_digest = "bb"};
  const RoundsView later{.state_round = 6, .state_digest = "aa"};
  EXPECT_TRUE(Agree(std::vector{state, state}));
  EXPECT_FALSE(Agree(std::vector{state, other}));
  EXPECT_FALSE(Agree(std::vector{state, later}));
}

TEST(AllJudgedTest, AVersionOfTheLastRoundServesOrIsHeldBack) {
  const RoundsView served{.served_version = 13};
  const RoundsView older{.served_version = 12};
  const RoundsView held{.served_version = 12, .held_back = true};
  EXPECT_TRUE(AllJudged(std::vector{served, held}, 13));
  EXPECT_FALSE(AllJudged(std::vector{served, older}, 13));
}

// ---- Texts

TEST(LessonsOfTest, AFileHasTheLessonsOfOneDocument) {
  const std::vector<TextPair> texts = {{"", "one\n"}, {"", "two \"2\""}, {"", "three"}};
  const LessonTexts lessons = LessonsOf("rust", texts, std::vector<size_t>{4, 4, 9});
  EXPECT_EQ(lessons.lessons, 3U);
  ASSERT_EQ(lessons.files.size(), 2U);
  EXPECT_EQ(lessons.files[0].name, "rust-00004.jsonl");
  EXPECT_EQ(lessons.files[0].lines, "{\"text\":\"one\\n\"}\n{\"text\":\"two \\\"2\\\"\"}\n");
  EXPECT_EQ(lessons.files[0].lessons, 2U);
  EXPECT_EQ(lessons.files[1].name, "rust-00009.jsonl");
  EXPECT_EQ(lessons.files[1].lessons, 1U);
}

// ---- Figures

constexpr size_t kPieces = 8;

Scores Flat(double nats) {
  return {.nats = std::vector<double>(kPieces, nats)};
}

ArmScores Arm(double first, double second, double general = 3) {
  return {.domains = {Flat(first), Flat(second)}, .general = Flat(general)};
}

GroupResult Alone(const ArmScores& scores) {
  GroupResult group;
  group.nodes.resize(1);
  group.nodes[0].scores = scores;
  group.nodes[0].ledger.valid = true;
  return group;
}

class NodesFiguresTest : public testing::Test {
 protected:
  NodesFiguresTest() {
    for (const char* name : {"a", "b"}) {
      ScoredTexts text{.name = name, .pairs = std::vector<TextPair>(kPieces), .documents = {}};
      for (size_t i = 0; i < kPieces; ++i) {
        text.documents.push_back(i);
      }
      texts_.held_out.push_back(text);
    }
    texts_.general = texts_.held_out.front();
    outcome_.base = Arm(4, 5);
    outcome_.federated.nodes.resize(2);
    outcome_.federated.members = 2;
    outcome_.federated.nodes[0].scores = Arm(3.6, 4.7);
    outcome_.federated.nodes[1].scores = Arm(3.7, 4.5, 3.003);
    for (NodeResult& node : outcome_.federated.nodes) {
      node.ledger.valid = true;
      node.rounds.own_contributions = 2;
    }
    outcome_.federated.first_round = 10;
    outcome_.federated.last_round = 11;
    outcome_.federated.nodes[0].bytes = 4000;
    outcome_.federated.nodes[1].bytes = 3000;
    outcome_.payload_bytes = 1000;
    outcome_.local = {Alone(Arm(3.5, 4.9)), Alone(Arm(3.9, 4.4))};
    outcome_.centralised = {Alone(Arm(3.5, 4.4))};
    settings_.quick = true;
  }
  NodeTexts texts_;
  NodesOutcome outcome_;
  FederateNodesSettings settings_;
};

TEST_F(NodesFiguresTest, TheGainOfOthersLeavesOutTheOwnDomain) {
  const std::vector<ArmScores> arms = {outcome_.federated.nodes[0].scores,
                                       outcome_.federated.nodes[1].scores};
  // Node b gains 0.3 on a's domain, and node a gains 0.3 on b's.
  const Interval change = OthersChange(outcome_.base, arms, FigureTextsOf(texts_));
  EXPECT_NEAR(change.mean, -0.3, 1e-12);
  EXPECT_NEAR(change.low, -0.3, 1e-12);
}

TEST_F(NodesFiguresTest, TheShareOfTheGapComparesTheSameNodes) {
  const Interval share = GapShare(ScoresOf(outcome_), FigureTextsOf(texts_));
  // Federated gains 0.2 on local-only on both domains, and centralised gains 0.4 and 0.5.
  EXPECT_NEAR(share.mean, 0.4 / 0.9, 1e-12);
}

TEST_F(NodesFiguresTest, BytesAreThoseOfTheNodeThatSentMost) {
  EXPECT_NEAR(BytesShare(outcome_, 2), 1, 1e-12);
}

TEST_F(NodesFiguresTest, EveryExpectationGetsItsVerdict) {
  const nlohmann::json json = ReportNodes(outcome_, texts_, settings_);
  const nlohmann::json& verdicts = json["verdicts"];
  EXPECT_EQ(verdicts["others_gain"]["verdict"], "met by the whole interval");
  EXPECT_EQ(verdicts["own_domain"]["verdict"], "met by the whole interval");
  EXPECT_NEAR(verdicts["general"]["figure"]["mean"].get<double>(), 0.1, 1e-9);  // percent
  EXPECT_EQ(verdicts["gap"]["verdict"], "missed by the whole interval");
  EXPECT_EQ(verdicts["own_against_local"]["verdict"], "missed by the whole interval");
  EXPECT_EQ(verdicts["ledgers"]["figure"]["mean"], 1.0);
  EXPECT_EQ(verdicts["agreement"]["verdict"], "missed by the whole interval");
  EXPECT_FALSE(verdicts.contains("noise_free"));
  EXPECT_NEAR(json["domains"]["b"]["federated"]["other_nodes"]["mean"].get<double>(), -0.3, 1e-12);
  EXPECT_NEAR(json["domains"]["b"]["centralised"]["own_node"]["mean"].get<double>(), -0.6, 1e-12);
}

TEST_F(NodesFiguresTest, AnAttackIsJudgedByTheGainWithoutTheLiar) {
  settings_.tier = "dp";
  outcome_.local = {};
  outcome_.centralised = {};
  outcome_.without_liar = {outcome_.federated};
  for (NodeResult& node : outcome_.without_liar.front().nodes) {
    for (Scores& scores : node.scores.domains) {
      for (double& nats : scores.nats) {
        nats -= 0.1;
      }
    }
  }
  outcome_.liar.emplace();
  const nlohmann::json verdicts = ReportNodes(outcome_, texts_, settings_)["verdicts"];
  EXPECT_EQ(verdicts["lies"]["verdict"], "missed by the whole interval") << "it never lied";
  // The nodes gain 0.35 and 0.4 on the domains, and 0.1 more without the liar.
  EXPECT_NEAR(verdicts["attack"]["figure"]["mean"].get<double>(), 1 - 0.75 / 0.95, 1e-9);
  EXPECT_EQ(verdicts["attack"]["verdict"], "missed by the whole interval");
  EXPECT_FALSE(verdicts.contains("noise_free"));
}

TEST_F(NodesFiguresTest, NoiseIsJudgedByTheGainWithoutIt) {
  settings_.tier = "masked";
  outcome_.noise_free = {outcome_.federated};
  outcome_.federated.nodes[1].ledger = {.problem = "another node's"};
  const nlohmann::json verdicts = ReportNodes(outcome_, texts_, settings_)["verdicts"];
  EXPECT_NEAR(verdicts["noise_free"]["figure"]["mean"].get<double>(), 1, 1e-12);
  EXPECT_EQ(verdicts["noise_free"]["bound"], 0.88);
  EXPECT_EQ(verdicts["ledgers"]["verdict"], "missed by the whole interval");
  settings_.epsilon = 3;
  EXPECT_EQ(ReportNodes(outcome_, texts_, settings_)["verdicts"]["noise_free"]["bound"], 0.80);
}

}  // namespace
}  // namespace ruvd::bench
