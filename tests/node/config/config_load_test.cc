// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/reasons.h"
#include "base/status.h"
#include "node/config/config.h"
#include "node/config/keys.h"

namespace ruvd::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

class ConfigLoadTest : public ::testing::Test {
 protected:
  ConfigLoadTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::create_directories(folder_);
  }
  ~ConfigLoadTest() override { std::filesystem::remove_all(folder_); }

  std::string File(std::string_view toml) {
    const std::string path = folder_ / "ruvd.toml";
    std::ofstream(path) << toml;
    return path;
  }
  // Returns the configuration, or fails the test.
  NodeConfig Load(std::string_view toml, const Pairs& environment = {}, const Pairs& flags = {}) {
    auto config = LoadConfig(File(toml), environment, flags, &origins_);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.value_or(NodeConfig());
  }
  absl::Status Refusal(std::string_view toml, const Pairs& environment = {},
                       const Pairs& flags = {}) {
    return LoadConfig(File(toml), environment, flags, &origins_).status();
  }

  std::filesystem::path folder_;
  ConfigOrigins origins_;
};

TEST_F(ConfigLoadTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file =
      "[inference]\nthreads = 2\nqueue = 10\nmax_tokens_limit = 100\n"
      "[node]\nname = \"from-file\"\n";
  const NodeConfig config =
      Load(file, {{"RUVD_INFERENCE__QUEUE", "20"}, {"RUVD_INFERENCE__MAX_TOKENS_LIMIT", "200"}},
           {{"inference.max_tokens_limit", "300"}});
  EXPECT_EQ(config.inference.threads, 2);
  EXPECT_EQ(config.inference.queue, 20);
  EXPECT_EQ(config.inference.max_tokens_limit, 300);
  EXPECT_EQ(config.node.name, "from-file");
  EXPECT_EQ(config.storage.session_days, NodeConfig().storage.session_days);
  EXPECT_THAT(origins_["inference.threads"], AllOf(HasSubstr("file "), HasSubstr("ruvd.toml")));
  EXPECT_EQ(origins_["inference.queue"], "env RUVD_INFERENCE__QUEUE");
  EXPECT_EQ(origins_["inference.max_tokens_limit"], "flag");
  EXPECT_EQ(origins_["storage.session_days"], "default");
  EXPECT_EQ(origins_.size(), ConfigKeys().size());
}

TEST_F(ConfigLoadTest, NoFileGivesDefaults) {
  auto config = LoadConfig("", {}, {}, nullptr);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ConfigToToml(*config), ConfigToToml(NodeConfig()));
}

TEST_F(ConfigLoadTest, EveryTypeIsReadFromEverySource) {
  const NodeConfig file = Load(
      "[federation]\nseeds = [\"a:1\", \"b:2\"]\nenabled = true\n[inference]\nkv_bytes = "
      "1125899906842623\n[learning]\nslow_down = 1\nmin_rating = 0.25\n");
  EXPECT_THAT(file.federation.seeds, ::testing::ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(file.federation.enabled);
  EXPECT_EQ(file.inference.kv_bytes, (1ULL << 50) - 1);
  EXPECT_EQ(file.learning.slow_down, 1.0F);
  EXPECT_EQ(file.learning.min_rating, 0.25F);

  const NodeConfig text = Load("", {{"RUVD_FEDERATION__SEEDS", "a:1,b:2"}},
                               {{"federation.enabled", "true"},
                                {"inference.kv_bytes", "1125899906842623"},
                                {"learning.slow_down", "1"},
                                {"learning.min_rating", "0.25"}});
  EXPECT_EQ(ConfigToToml(text), ConfigToToml(file));
}

TEST_F(ConfigLoadTest, AMissingFileIsNamed) {
  const absl::Status status = LoadConfig(folder_ / "absent.toml", {}, {}, nullptr).status();
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_THAT(MessageOf(status), HasSubstr("absent.toml"));
}

TEST_F(ConfigLoadTest, UnknownKeysAnywhereNameTheClosestOne) {
  const absl::Status in_file = Refusal("[inference]\nqueue = 1\nthread = 2\n");
  EXPECT_EQ(ReasonOf(in_file), reasons::kUnknownConfigKey);
  EXPECT_THAT(MessageOf(in_file), AllOf(HasSubstr("ruvd.toml:3"), HasSubstr("inference.thread;"),
                                        HasSubstr("did you mean inference.threads?")));

  EXPECT_THAT(Refusal("", {{"RUVD_API_LISTEN", "127.0.0.1:1"}}).message(),
              HasSubstr("did you mean RUVD_API__LISTEN?"));
  const absl::Status in_environment = Refusal("", {{"RUVD_MODEL__PTAH", "x"}});
  EXPECT_EQ(ReasonOf(in_environment), reasons::kUnknownConfigKey);
  EXPECT_THAT(MessageOf(in_environment),
              AllOf(HasSubstr("RUVD_MODEL__PTAH"), HasSubstr("did you mean RUVD_MODEL__PATH?")));

  const absl::Status in_flags = Refusal("", {}, {{"apy.listen", "x:1"}});
  EXPECT_EQ(ReasonOf(in_flags), reasons::kUnknownConfigKey);
  EXPECT_THAT(MessageOf(in_flags),
              AllOf(HasSubstr("apy.listen"), HasSubstr("did you mean api.listen?")));
}

TEST_F(ConfigLoadTest, AKeyInTheWrongSectionNamesTheRightOne) {
  EXPECT_THAT(Refusal("[retrieval]\ndgr = \"off\"\n").message(),
              HasSubstr("did you mean experimental.dgr?"));
  EXPECT_THAT(Refusal("", {{"RUVD_RETRIEVAL__DGR", "off"}}).message(),
              HasSubstr("did you mean RUVD_EXPERIMENTAL__DGR?"));
  EXPECT_THAT(Refusal("", {}, {{"learning.deep_guard", "ewc"}}).message(),
              HasSubstr("did you mean experimental.deep_guard?"));
  // Several sections have this key, so its name does not say which one is meant.
  EXPECT_THAT(Refusal("[zzzzzzzzzzzz]\nlisten = \"a:1\"\n").message(),
              ::testing::Not(HasSubstr("did you mean")));
}

TEST_F(ConfigLoadTest, AnUnknownKeyFarFromAllSuggestsNothing) {
  const absl::Status status = Refusal("[zzzzzzzz]\nqqqqqqqqq = 1\n");
  EXPECT_EQ(ReasonOf(status), reasons::kUnknownConfigKey);
  EXPECT_THAT(MessageOf(status), ::testing::Not(HasSubstr("did you mean")));
}

TEST_F(ConfigLoadTest, AKeyOutsideASectionIsUnknown) {
  EXPECT_EQ(ReasonOf(Refusal("threads = 2\n")), reasons::kUnknownConfigKey);
}

TEST_F(ConfigLoadTest, OtherVariablesArePassedOver) {
  const NodeConfig config =
      Load("", {{"RUVD_SERVER", "x"}, {"PATH", "/bin"}, {"XRUVD_MODEL__PATH", "x"}});
  EXPECT_EQ(config.model.path, "");
}

struct WrongValue {
  std::string toml;
  std::string expected;  // part of the message

  // Names the case in the test runner's output.
  friend void PrintTo(const WrongValue& value, std::ostream* out) { *out << value.toml; }
};

class ConfigWrongValueTest : public ConfigLoadTest,
                             public ::testing::WithParamInterface<WrongValue> {};

TEST_P(ConfigWrongValueTest, IsRefusedWithWhatIsAllowed) {
  auto parsed = LoadConfig(File(GetParam().toml), {}, {}, nullptr);
  EXPECT_EQ(ReasonOf(parsed.status()), reasons::kConfigInvalid) << GetParam().toml;
  EXPECT_THAT(MessageOf(parsed.status()), HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Values, ConfigWrongValueTest,
    ::testing::Values(WrongValue{"[inference]\nthreads = \"two\"\n",
                                 "a whole number from 0 to 1024"},
                      WrongValue{"[inference]\nthreads = -1\n", "a whole number from 0 to 1024"},
                      WrongValue{"[inference]\nthreads = 1025\n", "inference.threads = 1025"},
                      WrongValue{"[inference]\nthreads = 1.5\n", "inference.threads = 1.5"},
                      WrongValue{"[storage]\nreserve_bytes = -1\n", "a whole number from 0"},
                      WrongValue{"[learning]\nmin_rating = 1.01\n", "a number from 0 to 1"},
                      WrongValue{"[learning]\nmin_rating = nan\n", "a number from 0 to 1"},
                      WrongValue{"[learning]\nenabled = \"yes\"\n", "true or false"},
                      WrongValue{"[learning]\nenabled = 1\n", "true or false"},
                      WrongValue{"[node]\nname = 7\n", "text"},
                      WrongValue{"[api]\nlisten = \"7420\"\n", "HOST:PORT"},
                      WrongValue{"[api]\nlisten = \"host:70000\"\n", "HOST:PORT"},
                      WrongValue{"[federation]\nseeds = \"a:1\"\n", "a list of HOST:PORT"},
                      WrongValue{"[federation]\nseeds = [\"a\"]\n", "a list of HOST:PORT"},
                      WrongValue{"[federation]\nauthority = \"abc\"\n", "64 hexadecimal digits"},
                      WrongValue{"[log]\nlevel = \"loud\"\n", "one of debug, info, warn, error"},
                      WrongValue{"[federation]\nseeds = [1, \"a:1\"]\n", "mixed list"},
                      WrongValue{"[node.name]\nx = 1\n", "a table"},
                      WrongValue{"[node]\nname = 2026-01-01\n", "a date"},
                      WrongValue{"[node\nname = 1\n", ":1: "},
                      WrongValue{"[node]\nname = \"a\"\nname = \"b\"\n", ":3: "}));

TEST_F(ConfigLoadTest, WrongTextOfAFlagIsRefused) {
  const absl::Status number = Refusal("", {}, {{"inference.threads", "2x"}});
  EXPECT_EQ(ReasonOf(number), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(number), AllOf(HasSubstr("flag --inference.threads"), HasSubstr("\"2x\"")));
  EXPECT_EQ(ReasonOf(Refusal("", {{"RUVD_LEARNING__ENABLED", "on"}}, {})), reasons::kConfigInvalid);
}

TEST_F(ConfigLoadTest, AFileOverTheLimitIsRefused) {
  EXPECT_EQ(ReasonOf(Refusal(std::string((1 << 20) + 1, '#'))), reasons::kLimitExceeded);
}

TEST(ConfigCheckTest, NamesWhatIsMissingOrContradicts) {
  NodeConfig config;
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("node.data_dir"));
  config.node.data_dir = "d";
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("model.path"));
  config.model.path = "m.gguf";
  EXPECT_TRUE(CheckConfig(config).ok());
  for (const char* open :
       {"0.0.0.0:7420", "[::]:7420", "192.168.0.7:7420", "128.0.0.1:1", "node:1", "[fe80::1]:1"}) {
    config.api.listen = open;
    EXPECT_THAT(MessageOf(CheckConfig(config)),
                AllOf(HasSubstr(open), HasSubstr("api.allow_remote = true")));
    config.api.allow_remote = true;
    EXPECT_TRUE(CheckConfig(config).ok());
    config.api.allow_remote = false;
  }
  config.api.listen = "127.0.0.1:0";
  config.api.http_listen = "0.0.0.0:7422";
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("api.http_listen = 0.0.0.0:7422"));
  config.api.http_listen = "";
  EXPECT_TRUE(CheckConfig(config).ok()) << "no HTTP";
  for (const char* near : {"127.0.0.1:0", "127.8.9.1:1", "[::1]:7420", "localhost:7420"}) {
    config.api.listen = near;
    EXPECT_TRUE(CheckConfig(config).ok()) << near;
  }
  config.api.key_file = "keys";
  EXPECT_THAT(MessageOf(CheckConfig(config)),
              AllOf(HasSubstr("api.tls_cert"), HasSubstr("in the clear")));
  config.api.tls_cert = "cert.pem";
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("api.tls_key"));
  config.api.tls_key = "key.pem";
  EXPECT_TRUE(CheckConfig(config).ok());
  config.api.listen = "0.0.0.0:7420";
  EXPECT_TRUE(CheckConfig(config).ok()) << "callers say who they are, and nobody hears it";
  config.api.key_file.clear();
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("api.key_file"));
  config.api = {};
  config.federation.enabled = true;
  EXPECT_THAT(MessageOf(CheckConfig(config)), HasSubstr("federation.authority"));
  config.federation.authority = std::string(64, 'a');
  EXPECT_TRUE(CheckConfig(config).ok());
}

TEST(ConfigCheckTest, AWholeNodeHasOneBudget) {
  NodeConfig config;
  config.node.data_dir = "d";
  config.model.path = "m.gguf";
  config.privacy.node_epsilon = 20;
  for (const char* unit : {"lesson", "user"}) {
    config.privacy.unit = unit;
    EXPECT_TRUE(CheckConfig(config).ok()) << unit;
  }
  config.privacy.unit = "node";
  const absl::Status refused = CheckConfig(config);
  EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(refused),
              AllOf(HasSubstr("privacy.node_epsilon is 20"), HasSubstr("privacy.unit = \"node\""),
                    HasSubstr("privacy.epsilon (8)"), HasSubstr("privacy.node_epsilon = 0")));
  config.privacy.node_epsilon = 0;
  EXPECT_TRUE(CheckConfig(config).ok());
}

TEST_F(ConfigLoadTest, AUnitOfPrivacyHasOneOfThreeNames) {
  EXPECT_EQ(Load("[privacy]\nunit = \"node\"\nepsilon = 2\n").privacy.unit, "node");
  EXPECT_EQ(Load("[privacy]\nnode_epsilon = 2.5\n").privacy.node_epsilon, 2.5F);
  EXPECT_THAT(MessageOf(Refusal("[privacy]\nunit = \"site\"\n")), HasSubstr("node"));
  EXPECT_THAT(MessageOf(Refusal("[privacy]\nnode_epsilon = -1\n")), HasSubstr("node_epsilon"));
}

// Regression test: a deep round read eight passages hundreds of times, and general text lost a nat
// per token.
TEST(ConfigCheckTest, GeneralTextIsReplayedOnlyWhereThereIsSome) {
  NodeConfig config;
  config.node.data_dir = "data";
  config.model.path = "model.gguf";
  for (const char* const guard : {"replay", "replay_ewc"}) {
    config.experimental.deep_guard = guard;
    config.learning.general_text.clear();
    const absl::Status refused = CheckConfig(config);
    EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid) << guard;
    EXPECT_NE(MessageOf(refused).find("learning.general_text"), std::string::npos) << refused;
    config.learning.general_text = "general.jsonl.zst";
    EXPECT_TRUE(CheckConfig(config).ok()) << guard;
  }
  config.experimental.deep_guard = NodeConfig{}.experimental.deep_guard;
  config.learning.general_text.clear();
  EXPECT_TRUE(CheckConfig(config).ok());
}

}  // namespace
}  // namespace ruvd::config
