// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/dp/grid_release.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy::masking {

// A key for Diffie-Hellman on Curve25519 (RFC 7748), of one node and one round.
using MaskPublicKey = std::array<uint8_t, 32>;

// Which sum: a cluster counts its rounds.
struct MaskRound {
  ClusterId cluster{};
  uint64_t round = 0;
  bool operator==(const MaskRound&) const = default;
};

// What the values of a sum mean. Public, and the same for every participant.
struct MaskLayout {
  Digest model_hash{};
  Digest frame_id{};
  std::vector<uint32_t> bank_values;  // values of each bank, in order
  dp::NoiseGrid grid;                 // sigma_units: noise of the whole sum
  // Participants whose noise does not count because they may tell it to each other.
  uint8_t colluders = 0;

  size_t Values() const;
  // INVALID_ARGUMENT without values, with a clip norm outside kMinClipUnits to kMaxGridUnits, noise
  // outside 1 to kMaxNoiseUnits or as many colluders as a clique has members at most;
  // LIMIT_EXCEEDED for more than kMaxMaskedValues.
  absl::Status Check() const;
  // Units of the largest value, of either sign, that one of `members` can add: a clipped value and
  // its share of the noise. INVALID_ARGUMENT where dp::ShareNoise has no share for them.
  absl::StatusOr<int64_t> MostUnitsOfOne(size_t members) const;
  // SHA-256 over all fields; docs/wire-format.md.
  Digest Hash() const;
};

struct CliqueMember {
  NodeId id{};
  MaskPublicKey key{};
  bool operator==(const CliqueMember&) const = default;
};

// The participants of one masked sum, ascending by id. A plain value.
struct Clique {
  MaskRound round;
  Digest layout{};  // MaskLayout::Hash
  std::vector<CliqueMember> members;

  // CLIQUE_INVALID unless there are kMinCliqueMembers to kMaxCliqueMembers, ascending by id, each
  // key once.
  absl::Status Check() const;
  // The member, or nullptr.
  const CliqueMember* Find(const NodeId& id) const;
  // Whether this is `former` without some of its members.
  bool IsRestartOf(const Clique& former) const;
  // Names the set: another member, key, round or layout gives another hash.
  Digest SetHash() const;
  bool operator==(const Clique&) const = default;
};

}  // namespace ruvd::privacy::masking
