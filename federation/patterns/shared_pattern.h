// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/core_delta.h"

namespace ruvd::federation {

// The parts of a pattern that may be shared: its centroid and trained cores, never text or single
// embeddings.
struct SharedPattern {
  std::array<uint8_t, 16> id{};
  uint32_t bank = 0;
  std::string task;       // at most kMaxSharedTaskBytes printable ASCII characters
  float quality = 0;      // 0 to 1, as claimed by its origin: shown, never trusted as a weight
  uint32_t examples = 0;  // at least 1
  int64_t created_ms = 0;
  std::vector<float> centroid;   // unit length
  std::vector<CoreDelta> cores;  // sorted by (target, bank), each at most once; may be empty

  bool operator==(const SharedPattern&) const = default;
};

// The required form of a pattern.
struct PatternRules {
  uint32_t dimension = 0;
  // Allowed deviation of the centroid's length from 1
  double norm_tolerance = 1e-3;
  UpdateRules cores;
};

// Returns UPDATE_INVALID or WRONG_DIMENSION. Outgoing and incoming patterns get this check.
absl::Status CheckSharedPattern(const SharedPattern& pattern, const PatternRules& rules);

// Encodes a pattern, which must have the order and sizes documented above, in the payload layout of
// docs/wire-format.md.
std::string EncodeSharedPattern(const SharedPattern& pattern);
// Decodes a pattern; UPDATE_INVALID for bytes that are not exactly one encoding. Sizes are checked
// before memory is allocated.
absl::StatusOr<SharedPattern> DecodeSharedPattern(std::span<const uint8_t> bytes);
// Returns the id without looking at the rest; nullopt if there are too few bytes.
std::optional<std::array<uint8_t, 16>> SharedPatternId(std::span<const uint8_t> bytes);

}  // namespace ruvd::federation
