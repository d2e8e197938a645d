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

// Two patterns that were merged.
struct MergedPattern {
  storage::PatternId kept{};
  storage::PatternId gone{};
  // Losses on the lessons of both in nats per token, with the adapter of each
  double kept_loss = 0;
  double gone_loss = 0;
  storage::LearningChange change;
};

// Merges patterns of this node whose centroids are within `similarity` (cosine) of one of
// `touched`. Between two patterns, the one whose adapter scores the lessons of both better stays,
// takes the other's lessons and combines the qualities; the other is deleted. Patterns of different
// banks, with an adapter of another user, or without any lesson among `lessons` stay apart.
// Patterns that are changed meanwhile stay as they are. `seed` chooses the masks. Returns CANCELLED
// and the errors of the store and of the forward pass.
absl::StatusOr<std::vector<MergedPattern>> MergeNearPatterns(
    const LearningServices& services, std::span<const Lesson> lessons,
    const std::set<storage::PatternId>& touched, float similarity, uint64_t seed);

}  // namespace ruvd::learning
