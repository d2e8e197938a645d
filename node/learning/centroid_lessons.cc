// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/centroid_lessons.h"

#include <set>
#include <span>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/learning/lesson_clusters.h"

namespace ruvd::learning {
absl::StatusOr<CentroidLessons> GatherCentroidLessons(const LearningServices& services,
                                                      const storage::ConsentBook& consents,
                                                      float min_rating, int64_t now_ms) {
  if (services.trajectories->size() >= services.trajectories->capacity()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kLimitExceeded,
                 "the store is full with {} trajectories: each new lesson displaces another, so "
                 "noise for one would not hide it; no noised centroids are released",
                 services.trajectories->capacity());
  }
  CentroidLessons lessons;
  std::set<privacy::Contributor> contributors;
  const size_t dimension = services.patterns->dimension();
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (TargetText(trajectory, min_rating).empty()) {
          return CheckCancelled(services).ok();
        }
        const privacy::Contributor whose = consents.ContributorOf(trajectory);
        if (!consents.MayShare({&whose, 1}, privacy::ConsentTier::kDp, now_ms)) {
          ++lessons.left_out;
          return CheckCancelled(services).ok();
        }
        const bool here = trajectory.embedded_by == AsText(services.package_id);
        if (!here || trajectory.embedding.size() != dimension) {
          ++lessons.not_embedded;
          return CheckCancelled(services).ok();
        }
        contributors.insert(whose);
        lessons.embeddings.push_back(trajectory.embedding);
        return CheckCancelled(services).ok();
      }));
  RETURN_IF_ERROR(CheckCancelled(services));
  lessons.contributors.assign(contributors.begin(), contributors.end());
  return lessons;
}

}  // namespace ruvd::learning
