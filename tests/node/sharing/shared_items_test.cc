// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shared_items.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/core_delta.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "node/serving/pattern_payload.h"
#include "tests/node/node_fixture.h"

namespace ruvd::sharing {
namespace {

constexpr int kRank = 4;
constexpr char kFirst[] = "blk.0.attn_output.weight";
constexpr char kSecond[] = "blk.0.ffn_up.weight";

inference::FrameSet TestFrame() {
  inference::FrameSet frame;
  frame.id.fill(7);
  return frame;
}

// Returns a payload of two cores of equal values.
serving::PatternPayload PayloadIn(const inference::FrameSet& frame) {
  const inference::CoreSet::Core core{.rank = kRank,
                                      .values = std::vector<float>(kRank * kRank, 1.5F)};
  return {
      .cores = inference::CoreSet{.frame_id = frame.id, .cores = {{kFirst, core}, {kSecond, core}}},
      .shareable = true};
}

storage::Pattern PatternWith(const serving::PatternPayload& payload) {
  storage::Pattern pattern;
  pattern.embedding = {0.6F, 0.8F};
  pattern.examples = 1;
  pattern.payload = serving::EncodePatternPayload(payload);
  return pattern;
}

const federation::UpdateRules kRules{.rank_of_target = {{kFirst, kRank}, {kSecond, kRank}}};

TEST(SharedItemsTest, CoresLeaveAsTheyAre) {
  const inference::FrameSet frame = TestFrame();
  const serving::PatternPayload payload = PayloadIn(frame);
  const auto shared = ShareablePattern(PatternWith(payload), &frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->cores.size(), 2u);
  EXPECT_TRUE(federation::CheckCores(shared->cores, kRules).ok());
  for (const federation::CoreDelta& core : shared->cores) {
    EXPECT_EQ(FromGrid(core.values), payload.cores->cores.at(core.target).values);
  }
}

TEST(SharedItemsTest, APatternOfAnotherFrameDoesNotLeave) {
  const storage::Pattern pattern = PatternWith(PayloadIn(TestFrame()));
  inference::FrameSet other = TestFrame();
  other.id.fill(8);
  EXPECT_EQ(ReasonOf(ShareablePattern(pattern, &other).status()), reasons::kFrameMismatch);
  EXPECT_EQ(ReasonOf(ShareablePattern(pattern, nullptr).status()), reasons::kFrameMismatch);
}

TEST(SharedItemsTest, WhatWasNotTrainedForSharingDoesNotLeave) {
  const inference::FrameSet frame = TestFrame();
  serving::PatternPayload payload = PayloadIn(frame);
  payload.shareable = false;
  EXPECT_EQ(ReasonOf(ShareablePattern(PatternWith(payload), &frame).status()),
            reasons::kInvalidArgument);
}

// A peer serves what the sender serves, to the last bit.
TEST(SharedItemsTest, APeerGetsTheAdapterThatServesHere) {
  const auto model = inference::Model::Load(kSmallModel).value();
  const inference::FrameSet frame =
      RandomFrameSet(*model, LinearTargets(*model, inference::Modules::kAll, 1), kRank, 1).value();
  inference::CoreSet cores{.frame_id = frame.id, .model_hash = frame.model_hash, .cores = {}};
  for (const auto& [target, module] : frame.modules) {
    cores.cores[target] = {.rank = kRank, .values = std::vector<float>(kRank * kRank, 0.125F)};
  }
  const serving::PatternPayload payload{.cores = cores, .shareable = true};
  const storage::Pattern pattern = PatternWith(payload);
  const auto shared = ShareablePattern(pattern, &frame);
  ASSERT_TRUE(shared.ok()) << shared.status();
  const auto row = PatternFromShared(*shared, privacy::NodeId{}, &frame, 3);
  ASSERT_TRUE(row.ok()) << row.status();
  const auto theirs = serving::AdapterOfPattern(
      *row, serving::DecodePatternPayload(row->payload).value(), *model, &frame);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ((*theirs)->version, 3u);
  EXPECT_EQ(inference::AdapterId(**theirs),
            inference::AdapterId(**serving::AdapterOfPattern(pattern, payload, *model, &frame)));
  EXPECT_FALSE(serving::DecodePatternPayload(row->payload)->shareable);
}

}  // namespace
}  // namespace ruvd::sharing
