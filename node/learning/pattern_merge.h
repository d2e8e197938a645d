// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "node/learning/lesson_clusters.h"
#include "storage/changes/learning_change.h"
#include "storage/patterns/pattern.h"

namespace ruvd::learning {

// Two patterns that became one.
struct MergedPattern {
  storage::PatternId kept{};
  storage::PatternId gone{};
  // Of the lessons of both, nats per token with the adapter of either.
  double kept_loss = 0;
  double gone_loss = 0;
  storage::LearningChange change;
};

// Merges patterns of this node whose centroids are within `similarity` (cosine) of one of
// `touched`: of two, the one whose adapter scores the lessons of both better stays, takes the other
// one's lessons and weighs its quality in; the other one is deleted. Patterns of another bank, with
// another user's adapter, or without any lesson among `lessons` stay apart. What somebody changes
// meanwhile stays as it is. `seed` chooses the masks. CANCELLED; the errors of the store and of the
// forward pass.
absl::StatusOr<std::vector<MergedPattern>> MergeNearPatterns(
    const LearningServices& services, std::span<const Lesson> lessons,
    const std::set<storage::PatternId>& touched, float similarity, uint64_t seed);

}  // namespace ruvd::learning
