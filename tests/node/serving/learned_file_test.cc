// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/learned_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

class LearnedFileTest : public DatabaseTest {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }

  const privacy::SealKey key_ = privacy::SealKey::Generate();
  const std::string path_ = LearnedPath(folder_.string(), "deep", 7);
};

TEST_F(LearnedFileTest, GivesBackWhatWasWritten) {
  ASSERT_TRUE(WriteLearnedFile(path_, key_, "weights").ok());
  EXPECT_EQ(std::filesystem::path(path_).filename(), "deep-7.sealed");
  EXPECT_EQ(ReadAdapterFile(path_, key_).value(), "weights");
  EXPECT_EQ(ReadFile(path_, 1000)->find("weights"), std::string::npos);
}

TEST_F(LearnedFileTest, RefusesEveryChangedByteAndTruncationAndNoKey) {
  ASSERT_TRUE(WriteLearnedFile(path_, key_, "weights").ok());
  EXPECT_EQ(ReasonOf(ReadAdapterFile(path_, std::nullopt).status()), reasons::kSealBroken);
  const std::string whole = ReadFile(path_, 1000).value();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    ASSERT_TRUE(WriteFileAtomically(path_, changed, 0600).ok());
    EXPECT_EQ(ReasonOf(ReadAdapterFile(path_, key_).status()), reasons::kSealBroken) << i;
    ASSERT_TRUE(WriteFileAtomically(path_, whole.substr(0, i), 0600).ok());
    EXPECT_EQ(ReasonOf(ReadAdapterFile(path_, key_).status()), reasons::kSealBroken) << i;
  }
}

TEST_F(LearnedFileTest, OtherFilesAreInClear) {
  const std::string plain = (folder_ / "imported.gguf").string();
  ASSERT_TRUE(WriteFileAtomically(plain, "weights", 0600).ok());
  EXPECT_EQ(ReadAdapterFile(plain, key_).value(), "weights");
  EXPECT_EQ(ReadAdapterFile(plain, std::nullopt).value(), "weights");
}

}  // namespace
}  // namespace ruvd::serving
