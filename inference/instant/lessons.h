// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "inference/instant/instant_step.h"
#include "inference/sampler/commit_trail.h"

namespace ruvd::inference {

// From here on a reward teaches what was committed, and at most the second rejects it. What lies
// between says too little.
inline constexpr float kTeachingReward = 0.7F;
inline constexpr float kRejectingReward = 0.3F;

// What a reward of 0 (useless) to 1 (accepted) says of every committed token: weight
// 2 (reward - 0.5), below zero for a rejection; nothing in between the bounds above. The lessons
// borrow what `committed` borrows.
std::vector<InstantLesson> LessonsOfReward(std::span<const CommittedPosition> committed,
                                           float reward);

// What an edited completion says: tokens that stayed are right, replaced ones are rejected, and
// those in their places are right there, one for one. Tokens inserted where none was replaced have
// no hidden state and teach nothing. The two are aligned by their longest common subsequence,
// behind the common beginning and before the common end.
std::vector<InstantLesson> LessonsOfEdit(std::span<const CommittedPosition> committed,
                                         std::span<const TokenId> edited);

}  // namespace ruvd::inference
