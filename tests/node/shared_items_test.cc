// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/shared_items.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "node/actors/pattern_payload.h"

namespace ruvd {
namespace {

constexpr int kRank = 4;

Frame TestFrame() {
  Frame frame;
  frame.id.fill(7);
  frame.target = "blk.0.attn_output.weight";
  frame.rank = kRank;
  return frame;
}

// A pattern whose core has sixteen equal values and this norm.
Pattern PatternOfNorm(const Frame& frame, double norm) {
  PatternPayload payload;
  payload.frame_id = frame.id;
  payload.core.assign(kRank * kRank, static_cast<float>(norm / kRank));
  Pattern pattern;
  pattern.embedding = {0.6F, 0.8F};
  pattern.examples = 1;
  pattern.payload = EncodePatternPayload(payload);
  return pattern;
}

UpdateRules Rules(const Frame& frame) {
  UpdateRules rules;
  rules.rank_of_target[frame.target] = kRank;
  return rules;
}

TEST(SharedItemsTest, ACoreAboveTheBoundIsScaledToItBeforeItLeaves) {
  const Frame frame = TestFrame();
  const auto shared = ShareablePattern(PatternOfNorm(frame, 17.8), frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_TRUE(CheckCores(shared->cores, Rules(frame)).ok());
  EXPECT_NEAR(NormOf(shared->cores), UpdateRules().max_norm, 1e-3);
  for (const float value : shared->cores.front().values) {
    EXPECT_EQ(value, shared->cores.front().values.front());  // the direction stays
  }
}

TEST(SharedItemsTest, ACoreWithinTheBoundLeavesUnchanged) {
  const Frame frame = TestFrame();
  const auto shared = ShareablePattern(PatternOfNorm(frame, 8), frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->cores.front().values, std::vector<float>(kRank * kRank, 2.0F));
}

TEST(SharedItemsTest, APatternOfAnotherFrameDoesNotLeave) {
  const Frame frame = TestFrame();
  Frame other = frame;
  other.id.fill(8);
  EXPECT_EQ(ReasonOf(ShareablePattern(PatternOfNorm(frame, 8), other).status()),
            reasons::kFrameMismatch);
}

CoreDelta CoreOfBank(const Frame& frame, TimestepBank bank, float value) {
  return {.target = frame.target,
          .bank = static_cast<uint32_t>(bank),
          .rank = kRank,
          .values = std::vector<float>(kRank * kRank, value)};
}

// Honest nodes contribute to one bank only, so the robust mean of another bank is what a single
// node says: it sorts first, but must never be served.
TEST(SharedItemsTest, ACoreOfABankThatOneNodeFillsAloneIsNotServed) {
  Frame frame = TestFrame();
  frame.in = kRank;
  frame.out = kRank;
  frame.p.assign(kRank * kRank, 0.0F);
  for (size_t i = 0; i < kRank; ++i) {
    frame.p[i * kRank + i] = 1;
  }
  frame.q = frame.p;
  AdapterDelta honest;
  honest.cores = {CoreOfBank(frame, BankOf(1), 0.25F)};
  AdapterDelta poisoned = honest;
  poisoned.cores.insert(poisoned.cores.begin(), CoreOfBank(frame, TimestepBank::kLow, 3));
  const auto wanted = FederatedAdapter(honest, frame, 1);
  const auto served = FederatedAdapter(poisoned, frame, 1);
  ASSERT_TRUE(wanted.ok() && served.ok()) << wanted.status() << served.status();
  EXPECT_EQ((*served)->targets.at(frame.target).b, (*wanted)->targets.at(frame.target).b);
  poisoned.cores.pop_back();
  EXPECT_EQ(ReasonOf(FederatedAdapter(poisoned, frame, 1).status()), reasons::kUpdateInvalid);
}

}  // namespace
}  // namespace ruvd
