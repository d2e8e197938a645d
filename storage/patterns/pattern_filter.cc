// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_filter.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage {

bool PatternFilter::Admits(const Pattern& pattern) const {
  return (!bank || pattern.bank == *bank) && (task.empty() || pattern.task == task) &&
         (tiers.empty() || std::find(tiers.begin(), tiers.end(), pattern.tier) != tiers.end()) &&
         (!serving || Serves(pattern.standing)) && (!origin || pattern.origin == *origin) &&
         (!min_quality || pattern.quality >= *min_quality) &&
         (!created_from_ms || pattern.created_ms >= *created_from_ms) &&
         (!created_before_ms || pattern.created_ms < *created_before_ms);
}

absl::Status PatternFilter::Check() const {
  if (min_quality && std::isnan(*min_quality)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the quality of the filter is not a number; give a number from 0 to 1");
  }
  for (const SharingTier tier : tiers) {
    if (tier == SharingTier::kUnspecified || tier > SharingTier::kPublic) {
      return Error(
          absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
          "the sharing tier of the filter does not exist; use private, masked, dp or public");
    }
  }
  return absl::OkStatus();
}

}  // namespace ruvd::storage
