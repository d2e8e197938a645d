// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "base/file.h"

namespace ruvd::learning {
namespace {

DeepMemory Sample() {
  return {.version = 3,
          .adapter = Sha256("adapter"),
          .responses = {"a", "bc"},
          .ewc = {.anchor = {1, -2, 0.5F}, .fisher = {0, 0.25, 4}}};
}

class DeepMemoriesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  DeepMemories Memories(const char* key = "key") const {
    return {folder_.string(), privacy::SealKey::FromBytes(Sha256(key)).value()};
  }
  std::filesystem::path PathOf(uint32_t version) const {
    return folder_ / fmt::format("memory-{}", version);
  }
  std::filesystem::path folder_;
};

TEST(DeepMemoryTest, BytesThatAreNoneAreRefused) {
  const std::string bytes = EncodeDeepMemory(Sample());
  EXPECT_EQ(DecodeDeepMemory(AsBytes(bytes)).value(), Sample());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeDeepMemory(AsBytes(bytes.substr(0, length))).ok()) << length;
  }
  EXPECT_FALSE(DecodeDeepMemory(AsBytes(bytes + "x")).ok());
  EXPECT_FALSE(DecodeDeepMemory(AsBytes(bytes + "12345678")).ok());
}

TEST(DeepMemoryTest, NumbersThatNoRunLeavesAreRefused) {
  for (const double fisher : {-1.0, std::numeric_limits<double>::infinity()}) {
    DeepMemory memory = Sample();
    memory.ewc.fisher[1] = fisher;
    EXPECT_FALSE(DecodeDeepMemory(AsBytes(EncodeDeepMemory(memory))).ok());
  }
  DeepMemory memory = Sample();
  memory.ewc.anchor[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(DecodeDeepMemory(AsBytes(EncodeDeepMemory(memory))).ok());
}

TEST_F(DeepMemoriesTest, AVersionFindsItsOwn) {
  EXPECT_FALSE(Memories().Find(3).has_value());
  ASSERT_TRUE(Memories().Keep(Sample()).ok());
  EXPECT_EQ(Memories().Find(3).value(), Sample());
  const std::string sealed = ReadFile(PathOf(3).string(), 1 << 20).value();
  EXPECT_EQ(sealed.find("RVDM"), std::string::npos) << "it is sealed";
}

TEST_F(DeepMemoriesTest, AFileOfAnotherStoreOrVersionIsSaidOnceAndRemoved) {
  ASSERT_TRUE(Memories("other key").Keep(Sample()).ok());
  EXPECT_FALSE(Memories().Find(3).has_value());
  EXPECT_FALSE(std::filesystem::exists(PathOf(3)));
  ASSERT_TRUE(Memories().Keep(Sample()).ok());
  std::filesystem::rename(PathOf(3), PathOf(4));
  EXPECT_FALSE(Memories().Find(4).has_value());
  EXPECT_FALSE(std::filesystem::exists(PathOf(4)));
}

}  // namespace
}  // namespace ruvd::learning
