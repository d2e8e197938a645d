// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/seal_key_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/data_key.h"
#include "privacy/seal/passphrase.h"

namespace ruvd::privacy {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const SealContext kContext{.column_family = 2, .key = "row", .schema = 2, .generation = 1};

bool Same(const SealKey& a, const SealKey& b) {
  return b.Open(kContext, a.Seal(kContext, "text")).ok();
}

// Returns the cheapest parameters that are allowed, so that tests stay quick.
PassphraseParameters Cheap() {
  PassphraseParameters parameters = PassphraseParameters::Generate();
  parameters.passes = limits::kMinPassphrasePasses;
  parameters.memory_bytes = limits::kMinPassphraseMemoryBytes;
  return parameters;
}

class SealKeySourceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("source_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "seal.key";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

using Kind = SealKeySource::Kind;

TEST_F(SealKeySourceTest, AFileIsReplacedAfterTheStoreTookTheNextKey) {
  SealKeySource source({.kind = Kind::kFile, .path = path_});
  const SealKeys first = source.Load().value();
  EXPECT_FALSE(first.next.has_value());
  const SealKey next = source.StartRotation("").value();
  EXPECT_FALSE(Same(first.current, next));
  // A process killed here leaves both keys, and the store opens whichever it was sealed with.
  const SealKeys both = SealKeySource({.kind = Kind::kFile, .path = path_}).Load().value();
  EXPECT_TRUE(Same(both.current, first.current));
  ASSERT_TRUE(both.next.has_value());
  EXPECT_TRUE(Same(*both.next, next));
  ASSERT_TRUE(source.FinishRotation().ok());
  const SealKeys after = source.Load().value();
  EXPECT_TRUE(Same(after.current, next));
  EXPECT_FALSE(after.next.has_value());
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600);
}

TEST_F(SealKeySourceTest, ARotationCanBeCancelled) {
  SealKeySource source({.kind = Kind::kFile, .path = path_});
  const SealKeys first = source.Load().value();
  ASSERT_TRUE(source.StartRotation("").ok());
  ASSERT_TRUE(source.CancelRotation().ok());
  ASSERT_TRUE(source.CancelRotation().ok());
  const SealKeys again = source.Load().value();
  EXPECT_FALSE(again.next.has_value());
  EXPECT_TRUE(Same(again.current, first.current));
}

TEST_F(SealKeySourceTest, APassphraseGivesTheSameKeyWithTheSameParameters) {
  ASSERT_TRUE(WriteFileAtomically(path_, Cheap().Encode(), 0600).ok());
  const auto load = [&](const std::string& passphrase) {
    return SealKeySource({.kind = Kind::kPassphrase, .path = path_, .passphrase = passphrase})
        .Load();
  };
  const SealKeys first = load("correct horse battery").value();
  EXPECT_TRUE(Same(first.current, load("correct horse battery")->current));
  EXPECT_FALSE(Same(first.current, load("correct horse batterY")->current));
  EXPECT_EQ(ReasonOf(load("short").status()), reasons::kKeyInvalid);
  EXPECT_EQ(fs::file_size(path_), 44U);
}

TEST_F(SealKeySourceTest, ANewPassphraseTakesOver) {
  ASSERT_TRUE(WriteFileAtomically(path_, Cheap().Encode(), 0600).ok());
  SealKeySource source(
      {.kind = Kind::kPassphrase, .path = path_, .passphrase = "the first passphrase"});
  ASSERT_TRUE(source.Load().ok());
  EXPECT_EQ(ReasonOf(source.StartRotation("short").status()), reasons::kKeyInvalid);
  EXPECT_FALSE(fs::exists(path_ + ".next"));
  const SealKey next = source.StartRotation("the second passphrase").value();
  ASSERT_TRUE(source.FinishRotation().ok());
  EXPECT_TRUE(Same(source.Load()->current, next));
  SealKeySource second(
      {.kind = Kind::kPassphrase, .path = path_, .passphrase = "the second passphrase"});
  EXPECT_TRUE(Same(second.Load()->current, next));
}

TEST_F(SealKeySourceTest, ConcurrentFirstStartsEndWithOnePassphraseKey) {
  const auto load = [&] {
    return SealKeySource(
               {.kind = Kind::kPassphrase, .path = path_, .passphrase = "correct horse battery"})
        .Load();
  };
  std::vector<absl::StatusOr<SealKeys>> keys(4, absl::UnknownError(""));
  std::vector<std::thread> threads;
  for (auto& key : keys) {
    threads.emplace_back([&] { key = load(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto last = load();
  ASSERT_TRUE(last.ok()) << last.status();
  for (const auto& key : keys) {
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_TRUE(Same(key->current, last->current));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(SealKeySourceTest, LooksWithoutMakingAndTakesOverTheParametersOfABackup) {
  SealKeySource source(
      {.kind = Kind::kPassphrase, .path = path_, .passphrase = "correct horse battery"});
  EXPECT_FALSE(source.LoadExisting().value().has_value());
  EXPECT_FALSE(fs::exists(path_));
  const std::string derivation = Cheap().Encode();
  const SealKey key = source.DeriveWith(derivation).value();
  EXPECT_EQ(key.derivation(), derivation);
  EXPECT_EQ(ReasonOf(source.Adopt("other bytes")), reasons::kKeyInvalid);
  ASSERT_TRUE(source.Adopt(derivation).ok());
  EXPECT_TRUE(Same(source.LoadExisting().value()->current, key));
  EXPECT_EQ(SealKey::Generate().derivation(), "");
  EXPECT_EQ(ReasonOf(SealKeySource({.path = path_}).DeriveWith(derivation).status()),
            reasons::kKeyInvalid);
}

// A systemd unit with User= finds such a file: owned by root, readable for the service through an
// access list.
TEST_F(SealKeySourceTest, ACredentialOfTheServiceManagerMayBeReadableForItsGroup) {
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(kSealKeyBytes, 'k'), 0440).ok());
  SealKeySource source({.kind = Kind::kCredential, .path = path_});
  ::unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(ReasonOf(source.Load().status()), reasons::kKeyFileMode);
  ::setenv("CREDENTIALS_DIRECTORY", (folder_.string() + "/").c_str(), 1);
  EXPECT_TRUE(source.Load().ok());
  for (const mode_t mode : {0460, 0444, 0450}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(ReasonOf(source.Load().status()), reasons::kKeyFileMode) << mode;
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0440), 0);
  ::setenv("CREDENTIALS_DIRECTORY", folder_.parent_path().c_str(), 1);
  EXPECT_EQ(ReasonOf(source.Load().status()), reasons::kKeyFileMode);
  ::unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_F(SealKeySourceTest, AKeyOfAnotherUserAndWhatIsNoFileAreRefused) {
  SealKeySource source({.kind = Kind::kCredential, .path = path_});
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(ReasonOf(source.Load().status()), reasons::kFileUnreadable);
  fs::remove(path_);
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(kSealKeyBytes, 'k'), 0600).ok());
  EXPECT_TRUE(source.Load().ok());
  if (::chown(path_.c_str(), 12345, 12345) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const auto foreign = source.Load();
  EXPECT_EQ(ReasonOf(foreign.status()), reasons::kKeyFileMode);
  EXPECT_THAT(MessageOf(foreign.status()), HasSubstr("12345"));
}

TEST_F(SealKeySourceTest, ACredentialIsReadAndNeverMade) {
  SealKeySource source({.kind = Kind::kCredential, .path = path_});
  const auto missing = source.Load();
  EXPECT_EQ(ReasonOf(missing.status()), reasons::kFileNotFound);
  EXPECT_THAT(MessageOf(missing.status()), HasSubstr("LoadCredential"));
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(kSealKeyBytes, 'k'), 0600).ok());
  EXPECT_TRUE(source.Load().ok());
  EXPECT_EQ(ReasonOf(source.StartRotation("").status()), reasons::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(path_ + ".next", std::string(kSealKeyBytes, 'n'), 0600).ok());
  const auto next = source.StartRotation("");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(Same(*next, *source.Load()->next));
  EXPECT_TRUE(source.FinishRotation().ok());
}

TEST(PassphraseTest, ParametersOutsideTheLimitsAreRefused) {
  const PassphraseParameters good = Cheap();
  const auto decoded = PassphraseParameters::Decode(good.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->Encode(), good.Encode());
  const auto reason = [&](auto change) {
    PassphraseParameters bad = good;
    change(bad);
    return ReasonOf(PassphraseParameters::Decode(bad.Encode()).status());
  };
  EXPECT_EQ(reason([](auto& p) { p.passes = 1; }), reasons::kKeyInvalid);
  EXPECT_EQ(reason([](auto& p) { p.passes = 1000; }), reasons::kKeyInvalid);
  EXPECT_EQ(reason([](auto& p) { p.memory_bytes = 1 << 20; }), reasons::kKeyInvalid);
  EXPECT_EQ(reason([](auto& p) { p.memory_bytes = uint64_t{1} << 40; }), reasons::kKeyInvalid);
  const std::string bytes = good.Encode();
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(PassphraseParameters::Decode(bytes.substr(0, n)).ok());
  }
  EXPECT_FALSE(PassphraseParameters::Decode(bytes + "x").ok());
}

TEST(DataKeyTest, OpensWhatItSealedForItsNumberOnly) {
  const DataKey key = DataKey::Generate();
  SealContext context = kContext;
  context.key_id = 5;
  std::string out = "header";
  key.AppendSealed(context, "text", &out);
  EXPECT_EQ(out.size(), 6 + kSealOverheadBytes + 4);
  const std::string_view sealed = std::string_view(out).substr(6);
  EXPECT_EQ(key.Open(context, sealed).value(), "text");
  const DataKey same = DataKey::FromBytes(key.bytes()).value();
  EXPECT_EQ(same.Open(context, sealed).value(), "text");
  context.key_id = 6;
  EXPECT_EQ(ReasonOf(key.Open(context, sealed).status()), reasons::kSealBroken);
  context.key_id = 0;
  EXPECT_EQ(ReasonOf(key.Open(context, sealed).status()), reasons::kSealBroken);
  EXPECT_EQ(ReasonOf(DataKey::FromBytes(AsBytes("short")).status()), reasons::kKeyInvalid);
}

TEST(DataKeyTest, ManyKeysShareLockedMemory) {
  std::vector<DataKey> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.push_back(DataKey::Generate());
  }
  EXPECT_NE(ToHex(keys[0].bytes()), ToHex(keys[999].bytes()));
  const uint8_t* address = keys[500].bytes().data();
  keys.clear();
  // The memory was wiped when its owner was destroyed; the memory itself stays allocated.
  EXPECT_THAT(std::span(address, kSealKeyBytes), testing::Each(0));
}

}  // namespace
}  // namespace ruvd::privacy
