// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/closest.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/config/config.h"
#include "node/config/keys.h"
#include "node/config/toml.h"

namespace ruvd::config {
namespace {

// Applies a document to a default configuration.
absl::StatusOr<NodeConfig> Read(const std::string& toml) {
  auto entries = ParseTomlEntries(toml, "test.toml");
  if (!entries.ok()) {
    return entries.status();
  }
  NodeConfig config;
  for (const TomlEntry& entry : *entries) {
    const ConfigKey* key = FindConfigKey(entry.section + "." + entry.name);
    if (key == nullptr) {
      return absl::NotFoundError("key");
    }
    if (absl::Status status = SetConfigValue(*key, entry.value, "test", &config); !status.ok()) {
      return status;
    }
  }
  return config;
}

TEST(ConfigTomlTest, DefaultsReadBackUnchanged) {
  const std::string toml = ConfigToToml(NodeConfig());
  auto config = Read(toml);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ConfigToToml(*config), toml);
}

TEST(ConfigTomlTest, EveryKeyIsWrittenOnceWithItsMeaning) {
  const std::string toml = ConfigToToml(NodeConfig());
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_FALSE(key.doc.empty()) << key.dotted();
    EXPECT_THAT(toml, ::testing::HasSubstr("# " + std::string(key.doc) + "\n" +
                                           std::string(key.name) + " = "));
  }
}

TEST(ConfigKeysTest, NamesAreUniqueAndDefaultsAreAllowed) {
  std::set<std::string> names;
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_TRUE(names.insert(key.dotted()).second) << key.dotted();
    EXPECT_EQ(FindConfigKey(key.dotted()), &key);
  }
  EXPECT_EQ(FindConfigKey("node"), nullptr);
  EXPECT_EQ(FindConfigKey(""), nullptr);
}

RC_GTEST_PROP(ConfigTomlProperty, AnyNameSurvives, ()) {
  NodeConfig config;
  // Printable ASCII and control characters; toml++ refuses invalid UTF-8 by design.
  config.node.name = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  auto back = Read(ConfigToToml(config));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->node.name == config.node.name);
}

RC_GTEST_PROP(ConfigTomlProperty, AnyNumberInRangeSurvives, ()) {
  NodeConfig config;
  config.learning.min_rating = static_cast<float>(*rc::gen::inRange(0, 1001)) / 1000.0F;
  config.inference.threads = *rc::gen::inRange(0, 1025);
  config.inference.kv_bytes = *rc::gen::inRange<uint64_t>(1 << 20, 1ULL << 50);
  config.federation.seeds = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a:1", "[::1]:2", "host.example:65535"));
  auto back = Read(ConfigToToml(config));
  RC_ASSERT(back.ok());
  RC_ASSERT(ConfigToToml(*back) == ConfigToToml(config));
}

TEST(ConfigTomlTest, ControlCharactersAreRefusedWithTheirLine) {
  const auto entries = ParseTomlEntries(std::string("[node]\n[\0\0api]\n", 15), "f.toml");
  EXPECT_EQ(ReasonOf(entries.status()), reasons::kConfigInvalid);
  EXPECT_THAT(MessageOf(entries.status()),
              ::testing::HasSubstr("f.toml:2: control character 0x00"));
  EXPECT_TRUE(ParseTomlEntries("[node]\r\n\tname = 'a'\r\n", "f.toml").ok());
}

TEST(ConfigClosestTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("listen", "listne"), 1);  // neighbours swapped
}

RC_GTEST_PROP(ConfigClosestProperty, IsSymmetricAndZeroOnlyForEquals,
              (const std::string& a, const std::string& b)) {
  const std::string x = a.substr(0, 20);
  const std::string y = b.substr(0, 20);
  RC_ASSERT(EditDistance(x, y) == EditDistance(y, x));
  RC_ASSERT((EditDistance(x, y) == 0) == (x == y));
  RC_ASSERT(EditDistance(x, y) <= static_cast<int>(std::max(x.size(), y.size())));
}

TEST(ConfigClosestTest, SuggestsOnlyPlausibleSlips) {
  const std::vector<std::string> flags = {"--seed", "--steps", "--stop"};
  EXPECT_EQ(ClosestOf("--sedd", flags), "--seed");
  EXPECT_EQ(ClosestOf("--stpes", flags), "--steps");
  EXPECT_EQ(ClosestOf("--verbose", flags), "");
  EXPECT_EQ(Suggestion("--verbose", flags), "");
}

TEST(ConfigClosestTest, TheLastPartFindsAnotherSection) {
  const std::vector<std::string> keys = {"api.listen", "metrics.listen", "experimental.dgr"};
  EXPECT_EQ(ClosestOf("retrieval.dgr", keys), "experimental.dgr");
  EXPECT_EQ(ClosestOf("apy.listen", keys), "api.listen");
  EXPECT_EQ(ClosestOf("zzzzzzzz.listen", keys), "");
  EXPECT_EQ(ClosestOf("dgr", keys), "");
}

// Found by review: a long section made unrelated keys similar, and the hint was wrong.
TEST(ConfigClosestTest, ASharedSectionMakesNoKeysSimilar) {
  const std::vector<std::string> keys = {"privacy.node_epsilon", "federation.round_seconds"};
  EXPECT_EQ(ClosestOf("privacy.node_examples", keys), "");
  EXPECT_EQ(ClosestOf("federation.masked_seconds", keys), "");
  EXPECT_EQ(ClosestOf("privacy.node_epsilom", keys), "privacy.node_epsilon");
}

}  // namespace
}  // namespace ruvd::config
