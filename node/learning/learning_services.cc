// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/learning_services.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd {

absl::Status CheckCancelled(const LearningServices& services) {
  return services.cancelled && services.cancelled()
             ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                     "learning stopped before this was learned; it is learned when it goes on")
             : absl::OkStatus();
}

absl::Status AdvanceInSlices(const LearningServices& services, train::TrainingRun& run) {
  while (!run.done()) {
    const TimePoint end = services.clock->Now() + services.slice;
    RETURN_IF_ERROR(run.Advance([&] { return services.clock->Now() >= end; }));
    if (!run.done()) {
      RETURN_IF_ERROR(YieldBetweenPieces(services, run.bytes()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LearningChange> ListChange(const LearningServices& services, LearningChange change,
                                          std::span<const PatternImage> images) {
  change.created_ms = services.clock->WallMillis();
  change.on_demand = services.on_demand;
  change.package_id = services.package_id;
  return services.changes == nullptr ? absl::StatusOr<LearningChange>(std::move(change))
                                     : services.changes->Add(std::move(change), images);
}

void UnlistChange(const LearningServices& services, const LearningChange& change) {
  if (services.changes == nullptr) {
    return;
  }
  if (const absl::Status removed = services.changes->Remove(change.number); !removed.ok()) {
    LogWarning("change {} is listed and was not made: {}", TokenOf(change), MessageOf(removed));
  }
}

absl::Status YieldBetweenPieces(const LearningServices& services, uint64_t bytes) {
  RETURN_IF_ERROR(CheckCancelled(services));
  return services.between_slices ? services.between_slices(bytes) : absl::OkStatus();
}

}  // namespace ruvd
