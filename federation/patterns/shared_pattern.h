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
#include "federation/daf/adapter_delta.h"
#include "privacy/consent/consent.h"

namespace ruvd::federation {

// What of a pattern may travel: its centroid and trained cores, never text or single embeddings.
struct SharedPattern {
  std::array<uint8_t, 16> id{};
  uint32_t bank = 0;
  std::string task;       // at most kMaxSharedTaskBytes printable ASCII characters
  float quality = 0;      // 0 to 1, as its origin claims: shown, never trusted as a weight
  uint32_t examples = 0;  // at least 1
  int64_t created_ms = 0;
  std::vector<float> centroid;   // unit length
  std::vector<CoreDelta> cores;  // as in AdapterDelta; may be empty

  bool operator==(const SharedPattern&) const = default;
};

// What a pattern must look like to be accepted.
struct PatternRules {
  uint32_t dimension = 0;
  // Deviation of the centroid's length from 1.
  double norm_tolerance = 1e-3;
  UpdateRules cores;
};

// UPDATE_INVALID or WRONG_DIMENSION. The same check for what leaves and what arrives.
absl::Status CheckSharedPattern(const SharedPattern& pattern, const PatternRules& rules);

// Whether a local pattern of tier `pattern_tier` may leave under the operator's consent: both must
// allow it, since a pattern keeps the tier it was learned under. CONSENT_MISSING otherwise.
absl::Status MayTravel(privacy::ConsentTier pattern_tier, privacy::ConsentTier consent);

// What to do with a pattern from a peer, where `stored` is what the node keeps under the same
// (origin, pattern id), or nullptr: origins never overwrite each other, the newer version of one
// origin wins, ties go to the smaller encoding so that all nodes agree.
enum class PatternMerge { kInsert, kReplace, kKeep };
PatternMerge MergePattern(const SharedPattern* stored, const SharedPattern& incoming);

// Payload layout of docs/wire-format.md; as for AdapterDelta.
std::string EncodeSharedPattern(const SharedPattern& pattern);
absl::StatusOr<SharedPattern> DecodeSharedPattern(std::span<const uint8_t> bytes);
// The id alone, without a look at the rest; nullopt for fewer bytes.
std::optional<std::array<uint8_t, 16>> SharedPatternId(std::span<const uint8_t> bytes);

}  // namespace ruvd::federation
