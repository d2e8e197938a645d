// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "inference/instant/instant_step.h"
#include "inference/sampler/commit_trail.h"

namespace ruvd::inference {

// A reward of at least kTeachingReward teaches the committed tokens; one of at most
// kRejectingReward rejects them. A reward in between says too little.
inline constexpr float kTeachingReward = 0.7F;
inline constexpr float kRejectingReward = 0.3F;

// Returns what a reward from 0 (useless) to 1 (accepted) says about every committed token: weight 2
// (reward - 0.5), which is negative for a rejection. Returns no lessons for a reward between the
// two bounds above. The lessons borrow what `committed` borrows.
std::vector<InstantLesson> LessonsOfReward(std::span<const CommittedPosition> committed,
                                           float reward);

// Returns what an edited completion says: tokens that stayed are right, replaced tokens are
// rejected, and the tokens that replaced them, one for one, are right at those positions. Tokens
// inserted without replacing others have no hidden state and teach nothing. The two texts are
// aligned by their longest common subsequence, after the common beginning and before the common
// end.
std::vector<InstantLesson> LessonsOfEdit(std::span<const CommittedPosition> committed,
                                         std::span<const TokenId> edited);

}  // namespace ruvd::inference
