// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "tests/inference/memory_fixture.h"

namespace ruvd::inference {
namespace {

constexpr size_t kHeaderBytes = 8;

class MemoryRunTest : public testing::Test {
 protected:
  std::shared_ptr<const MemoryRun> Parsed(std::string_view bytes) const {
    auto run = MemoryRun::Parse(bytes, 5, parameters_.dimension);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : nullptr;
  }

  Random random_{2};
  MemoryParameters parameters_ = test::RandomMemoryParameters();
  std::shared_ptr<const MemoryRun> run_ =
      test::RunOf(parameters_, 5, test::MakeLesson(random_, 30, 4));
  std::string bytes_ = run_->Serialize();
};

TEST_F(MemoryRunTest, KeepsEveryBit) {
  const auto again = Parsed(bytes_);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->id(), 5U);
  EXPECT_EQ(again->context(), 4U);
  EXPECT_EQ(again->size(), 26U);
  EXPECT_EQ(again->dimension(), parameters_.dimension);
  EXPECT_EQ(again->Serialize(), bytes_);
  EXPECT_EQ(bytes_.size(), kHeaderBytes + 30 * 4 + 26 * (4 + 34));
}

// Found by fuzzing: a run of nothing was copied from a null pointer.
TEST_F(MemoryRunTest, ARunOfNothingIsRead) {
  const std::string nothing("\1\0\40\0\0\0\0\0", kHeaderBytes);
  const auto run = Parsed(nothing);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->size(), 0U);
  EXPECT_EQ(run->Serialize(), nothing);
}

TEST_F(MemoryRunTest, OtherBytesAreRefused) {
  const auto refused = [](const std::string& bytes, int dimension) {
    return ReasonOf(MemoryRun::Parse(bytes, 5, dimension).status()) == reasons::kFileUnreadable;
  };
  for (size_t length = 0; length < bytes_.size(); ++length) {
    EXPECT_TRUE(refused(bytes_.substr(0, length), parameters_.dimension)) << length;
  }
  EXPECT_TRUE(refused(bytes_ + "x", parameters_.dimension));
  EXPECT_TRUE(refused(bytes_, 64)) << "keys of another length";
  for (size_t place = 0; place < kHeaderBytes; ++place) {
    std::string changed = bytes_;
    changed[place] = static_cast<char>(changed[place] ^ 0x41);
    EXPECT_TRUE(refused(changed, parameters_.dimension)) << place;
  }
}

TEST_F(MemoryRunTest, AnEntryThatIsNotFiniteNeverVotes) {
  const size_t biases = kHeaderBytes + 30 * 4;
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes_.data() + biases + 3 * sizeof(float), &nothing, sizeof(nothing));
  const size_t key = biases + 26 * sizeof(float) + 7 * 34;
  bytes_[key] = 0;
  bytes_[key + 1] = 0x7c;  // the scale is infinity
  const auto run = Parsed(bytes_);
  ASSERT_NE(run, nullptr);
  for (size_t i = 0; i < run->size(); ++i) {
    EXPECT_EQ(std::isfinite(run->biases()[i]), i != 3 && i != 7) << i;
  }
  EXPECT_EQ(run->Serialize(), Parsed(run->Serialize())->Serialize());
}

}  // namespace
}  // namespace ruvd::inference
