// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests `ruvd privacy` with real ledgers in the store of a node that does not run, and with their
// exported files.

#include <cmath>

#include "base/bytes.h"
#include "node/process/privacy_counter.h"
#include "node/program/program.h"
#include "privacy/consent/consent.h"
#include "privacy/dp/rdp_curve.h"
#include "storage/consent/consent_store.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/limits.h"
#include "tests/node/local/cli_store_fixture.h"

namespace ruvd::cli {
namespace {

using testing::AllOf;
using testing::Not;

class CliPrivacyTest : public CliStoreTest {
 protected:
  void SetUp() override {
    CliStoreTest::SetUp();
    file_ = (folder_ / "ledger").string();
  }
  privacy::NodeKey Key() const {
    return privacy::NodeKey::LoadOrCreate(config_.node.data_dir + "/node.key").value();
  }
  std::string Id() const { return ToHex(Key().id()); }
  // Charges rounds of rho 1/2 with a fifth of the lessons or users that joined in this or the last
  // round; the last charge is not released.
  void Spend(int releases, privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson) {
    const auto database = Open();
    const privacy::NodeKey key = Key();
    const storage::PrivacyLedgerOptions options{
        .budgets = {{.unit = unit, .epsilon = 100, .delta = 1e-6}},
        .key = &key,
        .counter_file = node::PrivacyCounterFileOf(config_)};
    const auto ledger = storage::PrivacyLedgerStore::Open(*database, options).value();
    for (int i = 1; i <= releases; ++i) {
      privacy::LedgerCharge charge{.unit = unit, .sigma = 1, .subject = "update"};
      charge.curve = RoundCost();
      charge.round = static_cast<uint64_t>(i);
      charge.oldest_joined = charge.round - 1;
      const uint64_t reservation = ledger->Reserve(charge).value();
      ASSERT_TRUE(ledger->Spend(reservation).ok());
      if (i < releases) {
        ASSERT_TRUE(ledger->Release(reservation).ok());
      }
    }
  }
  static privacy::dp::RdpCurve RoundCost() { return privacy::dp::SampledCurve(0.2, 0.5).value(); }
  // Returns the epsilon of a lesson after rounds of lessons and of users.
  static double EpsilonOfRounds(uint64_t rounds, double delta = 1e-6, uint64_t of_users = 0) {
    privacy::dp::RdpCurve of_user = privacy::dp::ReplacementCurve(RoundCost());
    of_user *= of_users;
    privacy::dp::RdpCurve curve = RoundCost();
    curve *= rounds;
    curve += of_user;
    return privacy::dp::EpsilonOf(curve, delta).value().value;
  }
  void Export() { ASSERT_EQ(Run({"privacy", "export", "--out", file_}), 0) << err_.str(); }
  // Verification needs no node, so it takes no configuration.
  int RunAlone(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    CommandContext context{.out = out_, .err = err_};
    return node::RunProgram(arguments, context);
  }
  int Verify(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"privacy", "verify", file_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunAlone(arguments);
  }
  // Changes one bit in byte `at` of the file.
  void Flip(size_t at) {
    std::string bytes = ReadFile(file_, 1 << 20).value();
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    ASSERT_TRUE(WriteFileAtomically(file_, bytes).ok());
  }

  std::string file_;
};

TEST_F(CliPrivacyTest, AnExportedLedgerSaysWhatTheStoreSays) {
  Spend(2);
  Spend(1, privacy::PrivacyUnit::kUser);
  Export();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("7 entries"), HasSubstr("--key " + Id())));
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(Verify({"--key", Id()}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("the ledger is valid"), HasSubstr("belongs to the node that")));
  EXPECT_EQ(Verify({"--format", "json", "--delta", "1e-5"}), 0) << err_.str();
  const json file = json::parse(out_.str());
  EXPECT_EQ(file["ok"], true);
  EXPECT_EQ(file["node"], Id());
  EXPECT_EQ(file["node_compared"], false);
  EXPECT_EQ(file["entries"], "7");
  EXPECT_EQ(file["units"].size(), 3U);
  EXPECT_EQ(file["units"][0]["unit"], "lesson");
  EXPECT_EQ(file["units"][0]["releases"], "2");
  EXPECT_EQ(file["units"][0]["unreleased"], "1");
  EXPECT_EQ(file["units"][0]["epsilon"], EpsilonOfRounds(2, 1e-5, 1));
  EXPECT_EQ(file["units"][1]["unit"], "user");
  EXPECT_EQ(file["units"][1]["epsilon"], EpsilonOfRounds(3, 1e-5));
  EXPECT_EQ(file["units"][2]["unit"], "node");
  EXPECT_EQ(file["units"][2]["releases"], "0");
  EXPECT_EQ(file["units"][2]["epsilon"], EpsilonOfRounds(3, 1e-5)) << "it pays for all";
  const json store = RunJson({"privacy", "status", "--delta", "1e-5"});
  EXPECT_EQ(store["entries"], "7");
  EXPECT_EQ(store["head"], file["head"]);
  EXPECT_EQ(store["units"], file["units"]);
}

TEST_F(CliPrivacyTest, VerifyNamesTheFirstWrongEntryAndTheRemedy) {
  Spend(1);
  Export();
  const size_t length = fs::file_size(file_);
  Flip(length - 64 - 1);  // signature of the second entry
  EXPECT_EQ(Verify(), 1);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("entry 2 that its node did not sign"),
                                HasSubstr("export it again"), HasSubstr("[LEDGER_BROKEN]")));
  Flip(length - 64 - 1);
  Flip(length - 64 - 64 - 1);  // its hash
  EXPECT_EQ(Verify(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("altered at entry 2"));
  Flip(length - 64 - 64 - 1);
  EXPECT_EQ(Verify(), 0) << err_.str();
  Flip(length - 1);
  EXPECT_EQ(Verify(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("does not end where its node signed"));
  fs::resize_file(file_, length - 64 - 10);
  EXPECT_EQ(Verify(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("cut off after entry 1"));
}

TEST_F(CliPrivacyTest, VerifyComparesWithTheBudgetThatItIsGiven) {
  Spend(3);
  Export();
  EXPECT_EQ(Verify({"--lesson-epsilon", "12"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("all within the budget"));
  // Entry 4 is the second reserve.
  const double budget = (EpsilonOfRounds(1) + EpsilonOfRounds(2)) / 2;
  EXPECT_EQ(Verify({"--lesson-epsilon", fmt::format("{}", budget)}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("entry 4 of the ledger file"),
                                HasSubstr(fmt::format("budget of {:.3f}", budget)),
                                HasSubstr("stop sharing"), HasSubstr("[PRIVACY_BUDGET_SPENT]")));
}

TEST_F(CliPrivacyTest, VerifyRecomputesWhatALessonSpent) {
  Spend(3, privacy::PrivacyUnit::kLesson);
  Spend(1, privacy::PrivacyUnit::kUser);
  Export();
  // Rounds of rho 1/2 on a fifth of the lessons; a lesson was in two rounds and one of users.
  const double spent = EpsilonOfRounds(2, 1e-6, 1);
  EXPECT_EQ(Verify({"--format", "json"}), 0) << err_.str();
  const json file = json::parse(out_.str());
  EXPECT_EQ(file["units"][0]["unit"], "lesson");
  EXPECT_EQ(file["units"][0]["releases"], "3");
  EXPECT_NEAR(file["units"][0]["epsilon"].get<double>(), spent, 1e-9);
  EXPECT_NEAR(file["units"][1]["epsilon"].get<double>(), EpsilonOfRounds(4), 1e-9);
  const json store = RunJson({"privacy", "status", "--lesson-epsilon", "4"});
  EXPECT_EQ(store["units"][0]["epsilon"], file["units"][0]["epsilon"]);
  EXPECT_EQ(store["units"][0]["budget_epsilon"], 4);
  EXPECT_EQ(Verify({"--lesson-epsilon", fmt::format("{}", spent + 1e-6)}), 0) << err_.str();
  EXPECT_EQ(Verify({"--lesson-epsilon", fmt::format("{}", spent - 1e-6)}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("lesson-level"), HasSubstr("entry 9 of the ledger file"),
                                HasSubstr("[PRIVACY_BUDGET_SPENT]")));
  EXPECT_EQ(Verify({"--user-epsilon", "0.1"}), 1);
}

TEST_F(CliPrivacyTest, VerifyComparesWithTheBudgetOfTheNode) {
  Spend(2, privacy::PrivacyUnit::kLesson);
  Spend(1, privacy::PrivacyUnit::kNode);
  Export();
  const std::string all = fmt::format("{}", EpsilonOfRounds(3) + 1e-6);
  EXPECT_EQ(Verify({"--node-epsilon", all, "--format", "json"}), 0) << err_.str();
  const json file = json::parse(out_.str());
  EXPECT_EQ(file["units"][0]["epsilon"], EpsilonOfRounds(2, 1e-6, 1)) << "a lesson pays for more";
  EXPECT_EQ(file["units"][2]["releases"], "1");
  EXPECT_EQ(file["units"][2]["epsilon"], EpsilonOfRounds(3));
  EXPECT_GT(file["units"][2]["budget_epsilon"], EpsilonOfRounds(3));
  EXPECT_EQ(Verify({"--node-epsilon", fmt::format("{}", EpsilonOfRounds(2))}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("node-level"), HasSubstr("[PRIVACY_BUDGET_SPENT]")));
  EXPECT_EQ(Verify({"--counter", node::PrivacyCounterFileOf(config_)}), 0) << err_.str();
  ASSERT_EQ(Run({"privacy", "status", "--node-epsilon", "4"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("node "), HasSubstr("4.000"),
                                HasSubstr("what they cost the node at least")));
}

TEST_F(CliPrivacyTest, VerifyComparesWithTheCounterOfTheNode) {
  Spend(1);
  Export();
  const std::string counter = node::PrivacyCounterFileOf(config_);
  EXPECT_EQ(Verify({"--counter", counter}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the counter agrees"));
  Spend(1);
  EXPECT_EQ(Verify({"--counter", counter}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("entries are missing"), HasSubstr("[LEDGER_BROKEN]")));
  EXPECT_EQ(Verify({"--counter", counter + "s"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("FILE_NOT_FOUND"));
}

TEST_F(CliPrivacyTest, VerifyComparesTheNode) {
  Spend(1);
  Export();
  EXPECT_EQ(Verify({"--key", ToHex(Key().public_key())}), 0) << err_.str();
  EXPECT_EQ(Verify({"--key", config_.node.data_dir + "/node.key"}), 0) << err_.str();
  EXPECT_EQ(Verify({"--key", std::string(64, 'a')}), 1);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("belongs to node " + Id()), HasSubstr("SIGNATURE_INVALID")));
  const std::string other = (folder_ / "other.key").string();
  ASSERT_TRUE(privacy::NodeKey::LoadOrCreate(other).ok());
  EXPECT_EQ(Verify({"--key", other}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("SIGNATURE_INVALID"));
}

TEST_F(CliPrivacyTest, BadUsageIsToldApart) {
  Spend(1);
  Export();
  EXPECT_EQ(RunAlone({"privacy", "verify"}), 2);
  EXPECT_EQ(RunAlone({"privacy", "verify", file_, "--budget", "1"}), 2);
  EXPECT_EQ(Verify({"--key", "abc"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("64 hexadecimal digits"));
  for (const char* delta : {"0", "1", "nan", "x"}) {
    EXPECT_EQ(Verify({"--delta", delta}), 2) << delta;
  }
  for (const char* epsilon : {"-1", "nan", "inf", "x"}) {
    EXPECT_EQ(Verify({"--lesson-epsilon", epsilon}), 2) << epsilon;
  }
  EXPECT_EQ(Verify({"--node-epsilon", "-1"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--node-epsilon is -1"));
  EXPECT_EQ(RunAlone({"privacy", "verify", file_ + "s"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("FILE_NOT_FOUND"));
  EXPECT_EQ(Run({"privacy", "export"}), 2);
}

TEST_F(CliPrivacyTest, ExportReplacesNothingAndSpendsNothing) {
  Spend(1);
  const std::string counter =
      ReadFile(node::PrivacyCounterFileOf(config_), limits::kMaxLedgerCounterBytes).value();
  Export();
  const std::string first = ReadFile(file_, 1 << 20).value();
  EXPECT_EQ(Run({"privacy", "export", "--out", file_}), 2);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("exists already"), HasSubstr("--out")));
  EXPECT_EQ(ReadFile(file_, 1 << 20).value(), first);
  EXPECT_EQ(ReadFile(node::PrivacyCounterFileOf(config_), limits::kMaxLedgerCounterBytes).value(),
            counter);
  EXPECT_EQ(RunJson({"privacy", "status"})["entries"], "2");
}

// An export must not hide a charge that the counter has and the chain lacks.
TEST_F(CliPrivacyTest, WhatOnlyTheCounterKnowsIsTold) {
  Spend(1);
  fs::remove(node::PrivacyCounterFileOf(config_));
  EXPECT_NEAR(RunJson({"privacy", "status"})["units"][0]["epsilon"].get<double>(),
              EpsilonOfRounds(2), 1e-9);
  const json exported = RunJson({"privacy", "export", "--out", file_});
  ASSERT_EQ(exported["missing"].size(), 1U);
  EXPECT_EQ(exported["missing"][0]["unit"], "lesson");
  EXPECT_NEAR(exported["missing"][0]["epsilon"].get<double>(), EpsilonOfRounds(1), 1e-9);
  EXPECT_THAT(err_.str(), HasSubstr("of lesson-level privacy is not in the file"));
  EXPECT_FALSE(fs::exists(node::PrivacyCounterFileOf(config_)));
}

TEST_F(CliPrivacyTest, StatusSaysTierAndBudget) {
  Spend(1);
  json status = RunJson({"privacy", "status", "--lesson-epsilon", "8"});
  EXPECT_EQ(status["tier"], "private");
  EXPECT_FALSE(status.contains("since"));
  EXPECT_EQ(status["units"][0]["budget_epsilon"], 8);
  EXPECT_FALSE(status["units"][1].contains("budget_epsilon"));
  ASSERT_TRUE(storage::ConsentStore(*Open())
                  .Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kDp, 5000, Key()))
                  .ok());
  status = RunJson({"privacy", "status"});
  EXPECT_EQ(status["tier"], "dp");
  EXPECT_EQ(status["since"], "1970-01-01T00:00:05Z");
  const privacy::NodeKey other = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  ASSERT_TRUE(storage::ConsentStore(*Open())
                  .Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kDp, 6000, other))
                  .ok());
  EXPECT_EQ(Run({"privacy", "status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("private"), HasSubstr("not signed by this node's key")));
}

TEST_F(CliPrivacyTest, StatusSaysWhatALessonMaySpend) {
  Put("a", "1");
  EXPECT_EQ(RunJson({"privacy", "status"})["config_epsilon"], 8);
  EXPECT_EQ(Run({"privacy", "status"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("epsilon 8.000 by any one lesson"));
}

TEST_F(CliPrivacyTest, StatusSaysWhatTheNodeMaySpend) {
  Put("a", "1");
  const json limited = RunJson({"privacy", "status", "--privacy.node_epsilon", "20"});
  EXPECT_EQ(limited["config_node_epsilon"], 20);
  EXPECT_EQ(limited["config_unit"], "lesson");
  ASSERT_EQ(Run({"privacy", "status", "--privacy.node_epsilon", "20"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("20.000 by the whole node (privacy.node_epsilon)"));
  ASSERT_EQ(Run({"privacy", "status", "--privacy.unit", "node"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("epsilon 8.000 by the whole node (privacy.epsilon)"));
}

TEST_F(CliPrivacyTest, PlanPredictsTheSignalOfWholeNodes) {
  const auto plan = [this](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"privacy", "plan", "--lessons", "2000",
                                          "--unit",  "node", "--nodes",   "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunAlone(arguments);
  };
  EXPECT_EQ(plan({}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("16 node(s) with all lessons as one unit"),
                                HasSubstr("suffices, or else"), HasSubstr("[SIGNAL_TOO_WEAK]")));
  ASSERT_EQ(plan({"--epsilon", "60", "--values", "448"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("1972 lessons, of which a round's sample has at most 16"),
                                HasSubstr("for a node after"), Not(HasSubstr("twice the nodes"))));
  ASSERT_EQ(plan({"--epsilon", "60", "--values", "448", "--format", "json"}), 0);
  const json report = json::parse(out_.str());
  EXPECT_EQ(report["unit"], "node");
  EXPECT_EQ(report["lessons"], "1972");
  EXPECT_EQ(report["expected_batch"], 1);
  EXPECT_EQ(plan({"--users", "20"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--users is given beside --unit node"));
  EXPECT_EQ(RunAlone({"privacy", "plan", "--lessons", "20", "--unit", "site"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("give lesson, user or node"));
  EXPECT_EQ(RunAlone({"privacy", "plan", "--lessons", "20", "--unit", "user"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--users"));
}

TEST_F(CliPrivacyTest, PlanPredictsTheSignalOfRounds) {
  const auto plan = [this](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"privacy", "plan", "--lessons", "2000",
                                          "--delta", "1e-5", "--values",  "1792"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunAlone(arguments);
  };
  ASSERT_EQ(plan({"--format", "json", "--cluster-noise", "1.1"}), 0) << err_.str();
  const json report = json::parse(out_.str());
  EXPECT_EQ(report["lessons"], "1972");
  EXPECT_EQ(report["expected_batch"], 512);
  EXPECT_LE(report["epsilon"], 8);
  // 2000 lessons would give 21.8.
  EXPECT_NEAR(report["snr"].get<double>(), 21.5, 0.5);
  EXPECT_GT(report["snr_of_one_node_more"], report["snr"]);
  EXPECT_EQ(report["at_cluster_noise"]["noise"], 1.1);
  EXPECT_GT(report["at_cluster_noise"]["sampling_rate"], 0.2);
  EXPECT_LE(report["at_cluster_noise"]["expected_batch"], 512);
  EXPECT_LE(report["at_cluster_noise"]["epsilon"], 8);
  EXPECT_GT(report["at_cluster_noise"]["snr"], 20);
  ASSERT_EQ(plan({}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("predicted"), HasSubstr("twice the lessons"),
                                HasSubstr("privacy.noise = 1.5"), HasSubstr("samples of 512")));
  ASSERT_EQ(plan({"--cluster-noise", "0.2", "--epsilon", "0.5"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no sampling rate"));
  ASSERT_EQ(plan({"--users", "200", "--format", "json"}), 0) << err_.str();
  const json by_user = json::parse(out_.str());
  EXPECT_EQ(by_user["users"], "169");
  EXPECT_EQ(by_user["expected_batch"], 84.5);
  // That of 169 lessons is 2.33; a user has 10 of them.
  EXPECT_NEAR(by_user["snr"].get<double>(), 2.33 * std::pow(10, 0.4), 0.1);
  ASSERT_EQ(plan({"--users", "200"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("for a user after"), HasSubstr("twice the users"),
                                HasSubstr("169 with 1972 lessons")));
  EXPECT_EQ(plan({"--users", "20", "--epsilon", "1"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("users for each node"));
  EXPECT_EQ(plan({"--users", "2001"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--users"));
  EXPECT_EQ(plan({"--epsilon", "0.2", "--batch", "16", "--nodes", "4"}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("suffices"), HasSubstr("[SIGNAL_TOO_WEAK]")));
  EXPECT_EQ(plan({"--tier", "public"}), 2);
  EXPECT_EQ(plan({"--nodes", "2"}), 1);
  EXPECT_EQ(RunAlone({"privacy", "plan"}), 2);
}

TEST_F(CliPrivacyTest, AnEmptyLedgerIsFine) {
  Put("a", "1");
  EXPECT_EQ(RunJson({"privacy", "status"})["entries"], "0");
  Export();
  EXPECT_EQ(Verify({"--key", Id(), "--lesson-epsilon", "0"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("signature of 0 entries"));
}

TEST_F(CliPrivacyTest, AStoreInUseAMissingStoreAndAMissingKeyAreErrors) {
  EXPECT_EQ(Run({"privacy", "status"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("no store was found"));
  EXPECT_FALSE(fs::exists(config_.node.data_dir));
  Spend(1);
  {
    const auto database = Open();
    EXPECT_NE(Run({"privacy", "status"}), 0);
    EXPECT_THAT(err_.str(), AllOf(HasSubstr("STORE_LOCKED"), HasSubstr("stop that node")));
  }
  const std::string key = config_.node.data_dir + "/node.key";
  fs::rename(key, folder_ / "kept");
  EXPECT_EQ(Run({"privacy", "export", "--out", file_}), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("FILE_NOT_FOUND"), HasSubstr("restore the file")));
  EXPECT_FALSE(fs::exists(key)) << "a new key would be of another node";
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(CliPrivacyTest, ABrokenChainIsNotExported) {
  Spend(1);
  ASSERT_TRUE(WriteFileAtomically(config_.node.data_dir + "/store/ledger-head",
                                  "9 " + std::string(64, '0') + "\n")
                  .ok());
  EXPECT_EQ(Run({"privacy", "export", "--out", file_}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("LEDGER_ROLLED_BACK"));
  EXPECT_EQ(Run({"privacy", "status"}), 1);
  EXPECT_THAT(out_.str(), Not(HasSubstr("entries")));
  EXPECT_FALSE(fs::exists(file_));
}

}  // namespace
}  // namespace ruvd::cli
