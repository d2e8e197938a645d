// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/stale_patterns.h"

#include "base/status.h"
#include "node/learning/lesson_clusters.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/pattern_walk.h"
#include "node/serving/served_adapters.h"

namespace ruvd::learning {
namespace {

// Returns whether an adapter was learned before this node shared patterns. What it learned reaches
// peers once its lessons are taught to cores.
bool MayGainPeers(const LearningServices& services, const serving::PatternPayload& payload) {
  return SharesPatterns(services) && !payload.cores && !payload.stays_here;
}

absl::StatusOr<std::set<storage::PatternId>> PatternsToTeachAgain(
    const LearningServices& services) {
  std::set<storage::PatternId> stale;
  const uint32_t served =
      services.catalog != nullptr ? serving::ServedDeepVersion(*services.catalog) : 0;
  RETURN_IF_ERROR(serving::ForEachPatternOf(
      *services.patterns, services.origin, [&](storage::Pattern& pattern) {
        if (IsLearnedHere(pattern) && !pattern.adapter_name.empty()) {
          const auto payload = serving::DecodePatternPayload(pattern.payload);
          if (payload.ok() &&
              (IsStale(services, *payload, served) || MayGainPeers(services, *payload))) {
            stale.insert(pattern.id);
          }
        }
        return CheckCancelled(services);
      }));
  return stale;
}

}  // namespace

bool IsStale(const LearningServices& services, const serving::PatternPayload& payload,
             uint32_t served_version) {
  const bool of_this_frame = !payload.cores || (services.frame != nullptr &&
                                                payload.cores->frame_id == services.frame->id);
  return payload.deep_version != served_version || !of_this_frame;
}

absl::StatusOr<std::set<std::string>> LessonsOfStalePatterns(const LearningServices& services,
                                                             float min_rating) {
  std::set<std::string> lessons;
  ASSIGN_OR_RETURN(const std::set<storage::PatternId> stale, PatternsToTeachAgain(services));
  if (stale.empty()) {
    return lessons;
  }
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (trajectory.learned_in && stale.contains(*trajectory.learned_in) &&
            trajectory.learned_by == AsText(services.package_id) &&
            !TargetText(trajectory, min_rating).empty()) {
          lessons.insert(trajectory.response_id);
        }
        return true;
      }));
  return lessons;
}

}  // namespace ruvd::learning
