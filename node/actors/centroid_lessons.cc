// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/centroid_lessons.h"

#include <map>
#include <set>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "node/actors/lesson_clusters.h"
#include "node/actors/pattern_payload.h"

namespace ruvd {
namespace {

// Whether what somebody did to the pattern that learned a lesson keeps the lesson here: removed it,
// or made it private. A pattern that cannot be read may be a private one.
bool KeptBack(const LearningServices& services, const PatternId& learned_in) {
  const absl::StatusOr<Pattern> pattern = services.patterns->Get(learned_in);
  if (!pattern.ok()) {
    return true;
  }
  const absl::StatusOr<PatternPayload> payload = DecodePatternPayload(pattern->payload);
  return !payload.ok() || payload->withheld;
}

}  // namespace

absl::StatusOr<CentroidLessons> GatherCentroidLessons(const LearningServices& services,
                                                      const ConsentBook& consents, float min_rating,
                                                      int64_t now_ms) {
  CentroidLessons lessons;
  std::set<Contributor> contributors;
  std::map<PatternId, bool> kept_back;
  const size_t dimension = services.patterns->dimension();
  RETURN_IF_ERROR(services.trajectories->ForEachSince(0, [&](const Trajectory& trajectory) {
    const bool here = trajectory.embedded_by == AsText(services.package_id);
    if (!here || trajectory.embedding.size() != dimension ||
        WantedText(trajectory, min_rating).empty()) {
      return CheckCancelled(services).ok();
    }
    if (trajectory.learned_in && trajectory.learned_by == AsText(services.package_id)) {
      const PatternId& id = *trajectory.learned_in;
      const auto known = kept_back.find(id);
      if (known != kept_back.end() ? known->second : (kept_back[id] = KeptBack(services, id))) {
        return CheckCancelled(services).ok();
      }
    }
    const Contributor whose = consents.ContributorOf(trajectory);
    if (!consents.MayShare({&whose, 1}, ConsentTier::kDp, now_ms)) {
      ++lessons.left_out;
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

}  // namespace ruvd
