// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "privacy/consent/user_consent.h"
#include "storage/consent/consent_book.h"

namespace ruvd::learning {

// Lessons whose embeddings may enter a release of noised centroids.
struct CentroidLessons {
  std::vector<std::vector<float>> embeddings;      // each lesson once
  std::vector<privacy::Contributor> contributors;  // the contributors of the lessons, each once
  size_t left_out = 0;                             // lessons of people who did not agree to tier dp
  // Lessons that may leave, but whose embeddings are from other models or were never computed,
  // because their requests searched nothing.
  size_t not_embedded = 0;
};

// Returns all stored trajectories that teach something and whose user allows them to leave under
// tier `dp` now. Whether a lesson is included depends on that lesson alone: if it depended on
// others, one more lesson could move others in or out, and noise for one would not hide it. For
// this reason patterns, which merge and are evicted, are not consulted. Lessons without an
// embedding of this model are only counted. Returns LIMIT_EXCEEDED if each new trajectory displaces
// another, CANCELLED, and the errors of the store.
absl::StatusOr<CentroidLessons> GatherCentroidLessons(const LearningServices& services,
                                                      const storage::ConsentBook& consents,
                                                      float min_rating, int64_t now_ms);

}  // namespace ruvd::learning
