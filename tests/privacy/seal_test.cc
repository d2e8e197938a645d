// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

const SealContext kSealContext{.column_family = 1, .key = "row", .schema = 1, .generation = 7};

class SealKeyFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("seal_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "seal.key";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
};

TEST(SodiumTest, InitialisesManyTimesAndFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      InitSodium();
      InitSodium();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::array<uint8_t, 32> a{};
  std::array<uint8_t, 32> b{};
  SecureRandomBytes(a);
  SecureRandomBytes(b);
  EXPECT_NE(a, b);
  SecureWipe(a);
  EXPECT_THAT(a, testing::Each(0));
}

RC_GTEST_PROP(SealTest, OpensWhatItSealed, (const std::string& text, const std::string& row)) {
  const SealKey key = SealKey::Generate();
  const SealContext context{.column_family = 3, .key = row, .schema = 2, .generation = 9};
  const std::string sealed = key.Seal(context, text);
  RC_ASSERT(sealed.size() == text.size() + kSealOverheadBytes);
  const auto opened = key.Open(context, sealed);
  RC_ASSERT(opened.ok());
  RC_ASSERT(*opened == text);
}

TEST(SealTest, EveryFlippedBitBreaksTheSeal) {
  const SealKey key = SealKey::Generate();
  const std::string sealed = key.Seal(kSealContext, "forty-two bytes of something private here");
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(ReasonOf(key.Open(kSealContext, damaged).status()), reasons::kSealBroken) << bit;
  }
}

TEST(SealTest, EveryTruncationBreaksTheSeal) {
  const SealKey key = SealKey::Generate();
  const std::string sealed = key.Seal(kSealContext, "text");
  for (size_t n = 0; n < sealed.size(); ++n) {
    EXPECT_EQ(ReasonOf(key.Open(kSealContext, std::string_view(sealed).substr(0, n)).status()),
              reasons::kSealBroken);
  }
}

TEST(SealTest, EveryPartOfTheContextIsBound) {
  const SealKey key = SealKey::Generate();
  const std::string sealed = key.Seal(kSealContext, "text");
  SealContext family = kSealContext;
  family.column_family = 2;
  SealContext row = kSealContext;
  row.key = "row2";
  SealContext schema = kSealContext;
  schema.schema = 2;
  SealContext generation = kSealContext;
  generation.generation = 8;
  for (const SealContext& other : {family, row, schema, generation}) {
    EXPECT_EQ(ReasonOf(key.Open(other, sealed).status()), reasons::kSealBroken);
  }
  EXPECT_EQ(ReasonOf(SealKey::Generate().Open(kSealContext, sealed).status()),
            reasons::kSealBroken);
  EXPECT_TRUE(key.Open(kSealContext, sealed).ok());
}

TEST(SealTest, SameTextSealsDifferentlyEachTime) {
  const SealKey key = SealKey::Generate();
  EXPECT_NE(key.Seal(kSealContext, "text"), key.Seal(kSealContext, "text"));
}

TEST(SealTest, RefusesKeysOfAnotherLength) {
  const std::string bytes(31, 'k');
  EXPECT_EQ(ReasonOf(SealKey::FromBytes(AsBytes(bytes)).status()), reasons::kKeyInvalid);
}

TEST_F(SealKeyFileTest, CreatesOnceWithOwnerOnlyModeAndLoadsTheSame) {
  const auto created = SealKey::LoadOrCreate(path_);
  ASSERT_TRUE(created.ok()) << created.status();
  struct stat info = {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600);
  const auto loaded = SealKey::LoadOrCreate(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->Open(kSealContext, created->Seal(kSealContext, "text")).value(), "text");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(SealKeyFileTest, ConcurrentCreatorsEndWithOneKey) {
  std::vector<absl::StatusOr<SealKey>> keys(4, absl::UnknownError(""));
  std::vector<std::thread> threads;
  for (auto& key : keys) {
    threads.emplace_back([&key, this] { key = SealKey::LoadOrCreate(path_); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto last = SealKey::LoadOrCreate(path_);
  ASSERT_TRUE(last.ok()) << last.status();
  for (const auto& key : keys) {
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_TRUE(last->Open(kSealContext, key->Seal(kSealContext, "text")).ok());
  }
}

TEST_F(SealKeyFileTest, RefusesAFileThatOthersMayRead) {
  ASSERT_TRUE(SealKey::LoadOrCreate(path_).ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  const auto loaded = SealKey::LoadOrCreate(path_);
  EXPECT_EQ(ReasonOf(loaded.status()), reasons::kKeyFileMode);
  EXPECT_THAT(MessageOf(loaded.status()), testing::HasSubstr("chmod 600"));
}

TEST_F(SealKeyFileTest, RefusesAFileOfAnotherLength) {
  ASSERT_TRUE(WriteFileAtomically(path_, "short", 0600).ok());
  const auto loaded = SealKey::LoadOrCreate(path_);
  EXPECT_EQ(ReasonOf(loaded.status()), reasons::kKeyInvalid);
  EXPECT_THAT(MessageOf(loaded.status()), testing::HasSubstr(path_));
}

TEST_F(SealKeyFileTest, ReportsAMissingFolder) {
  EXPECT_EQ(ReasonOf(SealKey::LoadOrCreate((folder_ / "no" / "key").string()).status()),
            reasons::kFileUnwritable);
}

}  // namespace
}  // namespace ruvd::privacy
