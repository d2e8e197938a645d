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

// Lessons whose embeddings may be in a release of noised centroids.
struct CentroidLessons {
  std::vector<std::vector<float>> embeddings;      // each lesson once
  std::vector<privacy::Contributor> contributors;  // whose they are, each once
  size_t left_out = 0;                             // of people who did not agree to tier dp
};

// All stored trajectories that teach something and whose user lets it leave under the tier `dp`
// now. A lesson is in by what is known of it alone, not by what other lessons say: else one more
// could bring others in or out, and noise for one would not hide it. So patterns are not asked,
// which merge and are evicted. Embeddings of another model than the services' are out.
// LIMIT_EXCEEDED where each new trajectory displaces another; CANCELLED; the errors of the store.
absl::StatusOr<CentroidLessons> GatherCentroidLessons(const LearningServices& services,
                                                      const storage::ConsentBook& consents,
                                                      float min_rating, int64_t now_ms);

}  // namespace ruvd::learning
