// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/admission.h"
#include "tests/node/key_line.h"

namespace ruvd::transport {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

const std::string kHash(64, 'a');

TEST(ApiKeysTest, ALineHasNameRolesHashAndLimits) {
  const auto keys = ParseKeyFile("# clients\n\n web  observer,admin sha256:" + kHash +
                                     " running=4\trequests=60 tokens=9\r\n" +
                                     "app contributor sha256:" + std::string(64, 'b'),
                                 "f");
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 2U);
  const ApiKey& web = keys->front();
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.roles, privacy::roles::kObserver | privacy::roles::kAdmin);
  EXPECT_EQ(web.limits,
            (KeyLimits{.requests_per_minute = 60, .tokens_per_minute = 9, .running = 4}));
  EXPECT_EQ(FormatKeyLine(web),
            "web observer,admin sha256:" + kHash + " requests=60 tokens=9 running=4");
  EXPECT_EQ(keys->back().limits, KeyLimits());
  EXPECT_THAT(*ParseKeyFile("# nothing\n", "f"), IsEmpty());
}

TEST(ApiKeysTest, AFileThatIsNoListOfKeysIsRefusedWithoutItsSecrets) {
  const std::string good = "web admin sha256:" + kHash;
  for (const std::string& bad :
       {std::string("admin secretsecretsecretsecretsecretsecret"), "web root sha256:" + kHash,
        "web admin, sha256:" + kHash + " x", "w b admin sha256:" + kHash, "web admin " + kHash,
        "web admin sha256:" + kHash + "0", good + " tokens=0", good + " tokens=-1",
        good + " tokens=1x", good + " tokens", good + " tokens=", good + " speed=1",
        good + " tokens=1 tokens=2", good + " tokens=1000000001", good + "\n" + good,
        good + "\nother admin sha256:" + kHash, std::string(33, 'n') + " admin sha256:" + kHash}) {
    const absl::Status refused = ParseKeyFile(bad, "keys").status();
    EXPECT_EQ(ReasonOf(refused), reasons::kConfigInvalid) << bad;
    EXPECT_THAT(MessageOf(refused), HasSubstr("keys:"));
    EXPECT_THAT(MessageOf(refused), Not(HasSubstr("secretsecret")));
  }
  std::string many;
  for (size_t i = 0; i <= limits::kMaxApiKeys; ++i) {
    const std::string name = std::to_string(i);
    many += test::KeyLine(name, privacy::roles::kAdmin, name);
  }
  EXPECT_THAT(MessageOf(ParseKeyFile(many, "keys").status()), HasSubstr("256 keys"));
}

class KeyFilesTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(file_); }
  void Write(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(file_, text, 0600).ok()); }
  // Tests run side by side, so each has a file of its own.
  const std::string file_ = fs::path(::testing::TempDir()) /
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(KeyFilesTest, AKeyIsFoundByItsSecretUntilItIsRevoked) {
  const std::string secret = MakeKeySecret();
  EXPECT_THAT(secret, MatchesRegex("ruvd-key-[0-9a-f]{64}"));
  EXPECT_NE(MakeKeySecret(), secret);
  const std::string other = test::KeyLine("other", privacy::roles::kAdmin, "x");
  Write(test::KeyLine("web", privacy::roles::kObserver, secret) + other);
  ApiKeys keys(file_);
  EXPECT_FALSE(keys.Find(secret).has_value());
  ASSERT_TRUE(keys.Reload().ok());
  ASSERT_TRUE(keys.Find(secret).has_value());
  EXPECT_EQ(keys.Find(secret)->name, "web");
  EXPECT_FALSE(keys.Find(secret.substr(1)).has_value());
  EXPECT_FALSE(keys.Find("").has_value());

  Write("damaged\n");
  EXPECT_EQ(ReasonOf(keys.Reload()), reasons::kConfigInvalid);
  Write("# empty\n");
  EXPECT_THAT(MessageOf(keys.Reload()), HasSubstr("ruvd key create"));
  EXPECT_TRUE(keys.Find(secret).has_value()) << "the former keys stay";
  fs::permissions(file_, fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(ReasonOf(keys.Reload()), reasons::kKeyFileMode);
  Write(other);
  ASSERT_TRUE(keys.Reload().ok());
  EXPECT_FALSE(keys.Find(secret).has_value());
}

TEST_F(KeyFilesTest, AClientReadsItsKeyFromTheFirstLineOfItsFile) {
  const std::string secret = MakeKeySecret();
  Write("# mine\n\n " + secret + " \n");
  EXPECT_EQ(ReadClientKey(file_).value(), secret);
  for (const std::string& bad : {std::string("# none\n"), std::string("short\n"),
                                 test::KeyLine("web", privacy::roles::kAdmin, secret)}) {
    Write(bad);
    EXPECT_EQ(ReasonOf(ReadClientKey(file_).status()), reasons::kConfigInvalid) << bad;
  }
}

}  // namespace
}  // namespace ruvd::transport
