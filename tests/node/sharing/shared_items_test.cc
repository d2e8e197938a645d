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

// At every t, the served part of a global adapter is the core of the bank that t is in.
TEST(SharedItemsTest, TheFederatedAdapterHasTheBanksOfTheNode) {
  inference::ProjectionFrame frame = TestFrame();
  frame.in = kRank;
  frame.out = kRank;
  frame.p.assign(kRank * kRank, 0.0F);
  for (size_t i = 0; i < kRank; ++i) {
    frame.p[i * kRank + i] = 1;
  }
  frame.q = frame.p;
  const std::vector<float> low(kRank * kRank, 0.25F);
  const std::vector<float> high(kRank * kRank, -3);
  const UpdateLayout layout{.frame = &frame, .boundaries = {0.5F}};
  const auto served = FederatedAdapter({low, high}, layout, 7);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ((*served)->name, "federated");
  EXPECT_EQ((*served)->version, 7u);
  for (const auto& [t, core] : {std::pair(0.2F, low), std::pair(0.5F, high)}) {
    inference::AdapterMix mix;
    inference::AppendMix(**served, t, {}, 1, &mix);
    ASSERT_EQ(mix.parts.size(), 1u);
    EXPECT_EQ(mix.parts[0].adapter->targets.at(frame.target).b, core);
  }
  const auto one = FederatedAdapter({low}, {.frame = &frame}, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_TRUE(inference::IsStatic(**one));
  EXPECT_EQ(ReasonOf(FederatedAdapter({low}, layout, 1).status()), reasons::kUpdateInvalid);
}

// A core that was trained for other banks has the same effect at t, however the node is configured
// now.
TEST(SharedItemsTest, ACoreOfOtherBanksIsBroughtToThoseOfTheNode) {
  const inference::ProjectionFrame frame = TestFrame();
  serving::PatternPayload payload;
  payload.frame_id = frame.id;
  payload.core_boundaries = {0.5F};
  payload.core.assign(kRank * kRank, 1.0F);
  payload.core.resize(2 * kRank * kRank, 3.0F);
  const auto banks = CoreByBank(payload, {.frame = &frame, .boundaries = {0.25F, 0.75F}});
  ASSERT_TRUE(banks.has_value());
  EXPECT_EQ(*banks, (federation::BankedValues{std::vector<float>(kRank * kRank, 1.0F),
                                              std::vector<float>(kRank * kRank, 2.0F),
                                              std::vector<float>(kRank * kRank, 3.0F)}));
  EXPECT_EQ(CoreForAllT(payload, frame), std::vector<float>(kRank * kRank, 2.0F));
  payload.core.pop_back();
  EXPECT_FALSE(CoreByBank(payload, {.frame = &frame}).has_value());
}

}  // namespace
}  // namespace ruvd::sharing
