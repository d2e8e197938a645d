// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests `ruvd key create`, `key ls` and `key revoke`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "node/program/program.h"
#include "node/terminal/command.h"
#include "node/transport/api_keys.h"
#include "privacy/identity/admission.h"

namespace ruvd::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class CliKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  // Returns what `ruvd key` wrote to standard output; err_ has the rest.
  std::string Key(std::vector<std::string> arguments, int expected = 0) {
    std::ostringstream out;
    std::ostringstream err;
    CommandContext context{.out = out, .err = err, .environment = {}};
    arguments.insert(arguments.begin(), "key");
    arguments.insert(arguments.end(), {"--keys", File()});
    EXPECT_EQ(node::RunProgram(arguments, context), expected) << out.str() << err.str();
    err_ = err.str();
    return out.str();
  }
  std::string File() const { return folder_ / "keys"; }

  fs::path folder_;
  std::string err_;
};

TEST_F(CliKeysTest, ACreatedKeyOpensTheNodeAndItsSecretIsShownOnce) {
  const std::string shown = Key({"create", "web", "--requests", "60", "--running", "4"});
  const size_t begin = shown.find("ruvd-key-");
  ASSERT_NE(begin, std::string::npos) << shown;
  const std::string secret = shown.substr(begin, shown.find('\n') - begin);
  EXPECT_THAT(err_, HasSubstr("SIGHUP"));
  transport::ApiKeys keys(File());
  ASSERT_TRUE(keys.Reload().ok());
  const auto key = keys.Find(secret);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->name, "web");
  EXPECT_EQ(key->roles, privacy::roles::kContributor);
  EXPECT_EQ(key->limits, (transport::KeyLimits{.requests_per_minute = 60, .running = 4}));
  EXPECT_EQ(fs::status(File()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(ReadFile(File(), 10'000).value(), Not(HasSubstr(secret)));

  Key({"create", "web"}, 1);
  EXPECT_THAT(err_, HasSubstr("a key named web already"));
  Key({"create", "w/b"}, 1);
  EXPECT_THAT(err_, HasSubstr("is no name of a key"));
  Key({"create", "x", "--role", "root"}, 2);
}

TEST_F(CliKeysTest, ARevokedKeyIsGoneAndCommentsStay) {
  Key({"create", "web"});
  const std::string file = ReadFile(File(), 10'000).value();
  ASSERT_TRUE(WriteFileAtomically(File(), "# clients of the ward\n" + file, 0600).ok());
  Key({"create", "boss", "--role", "admin,observer"});
  EXPECT_THAT(Key({"ls"}), MatchesRegex("KEY +ROLES +.*\nweb +contributor +- +- +-\n"
                                        "boss +observer,admin +- +- +-\n"));
  EXPECT_THAT(Key({"revoke", "web"}), HasSubstr("the key web is revoked"));
  EXPECT_THAT(Key({"ls"}), Not(HasSubstr("web")));
  EXPECT_THAT(ReadFile(File(), 10'000).value(), HasSubstr("# clients of the ward\nboss "));
  Key({"revoke", "web"}, 1);
  EXPECT_THAT(err_, HasSubstr("has no key named web"));
  Key({"revoke", "boss"}, 1);
  EXPECT_THAT(err_, HasSubstr("create another one first"));
}

TEST_F(CliKeysTest, ADamagedFileIsNotTouched) {
  ASSERT_TRUE(WriteFileAtomically(File(), "web secret\n", 0600).ok());
  Key({"create", "other"}, 2);
  EXPECT_THAT(err_, HasSubstr(File() + ":1 is not NAME ROLE"));
  EXPECT_EQ(ReadFile(File(), 10'000).value(), "web secret\n");
}

}  // namespace
}  // namespace ruvd::cli
