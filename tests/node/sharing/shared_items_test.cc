// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shared_items.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/core_delta.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::sharing {
namespace {

constexpr int kRank = 4;

inference::ProjectionFrame TestFrame() {
  inference::ProjectionFrame frame;
  frame.id.fill(7);
  frame.target = "blk.0.attn_output.weight";
  frame.rank = kRank;
  return frame;
}

// Returns a pattern whose core has sixteen equal values and this norm.
storage::Pattern PatternOfNorm(const inference::ProjectionFrame& frame, double norm) {
  serving::PatternPayload payload;
  payload.frame_id = frame.id;
  payload.core.assign(kRank * kRank, static_cast<float>(norm / kRank));
  storage::Pattern pattern;
  pattern.embedding = {0.6F, 0.8F};
  pattern.examples = 1;
  pattern.payload = serving::EncodePatternPayload(payload);
  return pattern;
}

federation::UpdateRules Rules(const inference::ProjectionFrame& frame) {
  federation::UpdateRules rules;
  rules.rank_of_target[frame.target] = kRank;
  return rules;
}

TEST(SharedItemsTest, ACoreAboveTheBoundIsScaledToItBeforeItLeaves) {
  const inference::ProjectionFrame frame = TestFrame();
  const auto shared = ShareablePattern(PatternOfNorm(frame, 17.8), frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_TRUE(federation::CheckCores(shared->cores, Rules(frame)).ok());
  EXPECT_NEAR(federation::NormOf(shared->cores), federation::UpdateRules().max_norm, 1e-3);
  for (const float value : shared->cores.front().values) {
    EXPECT_EQ(value, shared->cores.front().values.front());  // the direction is kept
  }
}

TEST(SharedItemsTest, ACoreWithinTheBoundLeavesUnchanged) {
  const inference::ProjectionFrame frame = TestFrame();
  const auto shared = ShareablePattern(PatternOfNorm(frame, 8), frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->cores.front().values, std::vector<float>(kRank * kRank, 2.0F));
}

TEST(SharedItemsTest, APatternOfAnotherFrameDoesNotLeave) {
  const inference::ProjectionFrame frame = TestFrame();
  inference::ProjectionFrame other = frame;
  other.id.fill(8);
  EXPECT_EQ(ReasonOf(ShareablePattern(PatternOfNorm(frame, 8), other).status()),
            reasons::kFrameMismatch);
}

// A core that was trained for several banks leaves as its mean over t.
TEST(SharedItemsTest, ACoreOfSeveralBanksLeavesAsItsMean) {
  const inference::ProjectionFrame frame = TestFrame();
  serving::PatternPayload payload;
  payload.frame_id = frame.id;
  payload.core_boundaries = {0.25F};
  payload.core.assign(kRank * kRank, 1.0F);
  payload.core.resize(2 * kRank * kRank, 3.0F);
  storage::Pattern pattern = PatternOfNorm(frame, 1);
  pattern.payload = serving::EncodePatternPayload(payload);
  const auto shared = ShareablePattern(pattern, frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->cores.front().values, std::vector<float>(kRank * kRank, 2.5F));
  payload.core.pop_back();
  pattern.payload = serving::EncodePatternPayload(payload);
  EXPECT_EQ(ReasonOf(ShareablePattern(pattern, frame).status()), reasons::kFrameMismatch);
}

}  // namespace
}  // namespace ruvd::sharing
