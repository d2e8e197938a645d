// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/learning_services.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::learning {

absl::Status CheckCancelled(const LearningServices& services) {
  return services.cancelled && services.cancelled()
             ? Error(
                   absl::StatusCode::kCancelled, reasons::kCancelled,
                   "learning stopped before this was learned; it is learned when learning resumes")
             : absl::OkStatus();
}

absl::Status AdvanceInSlices(const LearningServices& services, inference::train::TrainingRun& run) {
  while (!run.done()) {
    const TimePoint end = services.clock->Now() + services.slice;
    RETURN_IF_ERROR(run.Advance([&] { return services.clock->Now() >= end; }));
    if (!run.done()) {
      RETURN_IF_ERROR(YieldBetweenPieces(services, run.bytes()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<storage::LearningChange> ListChange(const LearningServices& services,
                                                   storage::LearningChange change,
                                                   std::span<const storage::PatternImage> images) {
  change.created_ms = services.clock->WallMillis();
  change.on_demand = services.on_demand;
  change.package_id = services.package_id;
  return services.changes == nullptr ? absl::StatusOr<storage::LearningChange>(std::move(change))
                                     : services.changes->Add(std::move(change), images);
}

void UnlistChange(const LearningServices& services, const storage::LearningChange& change) {
  if (services.changes == nullptr) {
    return;
  }
  if (const absl::Status removed = services.changes->Remove(change.number); !removed.ok()) {
    LogWarning("change {} is listed although it was not made: {}", storage::TokenOf(change),
               MessageOf(removed));
  }
}

absl::Status YieldBetweenPieces(const LearningServices& services, uint64_t bytes) {
  RETURN_IF_ERROR(CheckCancelled(services));
  return services.between_slices ? services.between_slices(bytes) : absl::OkStatus();
}

}  // namespace ruvd::learning
