// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/user_consent.h"

namespace ruvd::sharing {

// A lesson from which something may leave the node.
struct ShareableLesson {
  std::string name;        // as in ReadLesson
  size_t contributor = 0;  // its place in ShareableLessons::contributors
  int64_t created_ms = 0;  // when its request or its text came, Unix time
};

struct ShareableLessons {
  std::vector<ShareableLesson> lessons;
  std::vector<privacy::Contributor> contributors;  // whose lessons these are, each once
  size_t left_out = 0;  // lessons that teach something but may not leave under the tier
};

// What lessons are for: to train on, or to judge by (IsEvaluationLesson).
enum class LessonUse : uint8_t { kTraining, kJudging };
// What becomes of requests that newer ones may displace soon.
enum class DisplacedSoon : uint8_t { kLeftOut, kKept };

// Returns the lessons from which something may leave under `tier` at `now_ms`: feedback and texts
// whose users allow it (ConsentBook), without texts whose own tier is stricter. Without a book only
// the tier `public` shares anything. No lesson has both uses.
//
// Under every other tier than `public`, whether a lesson is among them depends on that lesson
// alone: if it depended on others, one more lesson could move others in or out, and noise for one
// would not hide it. So patterns, which merge and are evicted, are not consulted there, and what
// deep rounds hold back, which depends on the number of lessons, counts as any other lesson. Which
// lessons a full store holds depends on how many requests got feedback and on the sizes of texts,
// but on nothing else that they say. So noise for one lesson hides what it says and whether it
// takes part; it does not hide that a request got feedback, nor how long a text is, where that
// displaces or keeps out others (zero-out adjacency: Kairouz et al., "Practical and Private (Deep)
// Learning without Sampling or Shuffling", 2021, definition 1.1).
//
// Requests older than the newest half of those with feedback that the store can hold are left out,
// because they may be displaced during a round (`displaced`). Under `public`, so are lessons of
// deleted patterns.
//
// Returns CANCELLED and the errors of the stores.
absl::StatusOr<ShareableLessons> GatherShareableLessons(
    const learning::LearningServices& services, privacy::ConsentTier tier, float min_rating,
    int64_t now_ms, LessonUse use = LessonUse::kTraining,
    DisplacedSoon displaced = DisplacedSoon::kLeftOut);

// For what was computed from lessons and has not left yet: returns ABORTED with the reason CHANGED
// unless GatherShareableLessons still returns all of them, but for damaged ones, and their
// contributors still agree; and its errors.
absl::Status CheckStillShareable(const learning::LearningServices& services,
                                 privacy::ConsentTier tier, float min_rating,
                                 std::span<const std::string> names,
                                 std::span<const privacy::Contributor> contributors,
                                 LessonUse use = LessonUse::kTraining);

}  // namespace ruvd::sharing
