// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/patterns/pattern.h"

namespace ruvd::storage {

// Selects the patterns of a search or a list: those that match every given field. A default filter
// admits every pattern.
struct PatternFilter {
  std::optional<uint32_t> bank;
  std::string task;                // exactly this task; empty: any
  std::vector<SharingTier> tiers;  // one of these tiers; empty: any
  bool serving = false;            // only patterns that serve
  std::optional<Digest> origin;    // the node that learned it
  std::optional<float> min_quality;
  std::optional<int64_t> created_from_ms;    // this moment or later
  std::optional<int64_t> created_before_ms;  // earlier than this moment

  bool Admits(const Pattern& pattern) const;
  // Returns INVALID_ARGUMENT for a quality that is not a number or a tier that does not exist.
  absl::Status Check() const;
};

}  // namespace ruvd::storage
