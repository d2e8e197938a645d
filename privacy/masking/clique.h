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

// A public key for Diffie-Hellman on Curve25519 (RFC 7748), for one node and one round
using MaskPublicKey = std::array<uint8_t, 32>;

// Names a masked sum: the cluster and the number of its round.
struct MaskedSumId {
  ClusterId cluster{};
  uint64_t round = 0;
  bool operator==(const MaskedSumId&) const = default;
};

// Stands for a third of the participants, rounded up, as the number of colluders.
inline constexpr uint8_t kThirdColludes = 0xFE;

// What the values of a sum mean. The layout is public and the same for every participant.
struct MaskLayout {
  Digest model_hash{};
  Digest frame_id{};
  std::vector<uint32_t> bank_values;  // values of each bank, in order
  dp::NoiseGrid grid;                 // sigma_units is the noise of the whole sum
  // How many participants may tell each other their noise, so that it does not count; or
  // kThirdColludes
  uint8_t colluders = 0;
  // Largest magnitude, in units, of what a participant adds to a value before its noise. 0: that of
  // one clipped update, which is grid.clip_units. A sum over many units of data needs more.
  uint32_t unit_limit = 0;

  size_t Values() const;
  // Returns how many of `members` participants may collude, for dp::SplitNoise.
  uint32_t ColludersAmong(size_t members) const;
  // Returns the largest magnitude before the noise, in units.
  int64_t MaxUnitsBeforeNoise() const;
  // Returns INVALID_ARGUMENT for a layout without values, a clip norm outside kMinClipUnits to
  // kMaxGridUnits, noise outside 1 to kMaxNoiseUnits, kMaxCliqueMembers colluders or more, or a
  // limit above kMaxMaskUnits.
  // Returns LIMIT_EXCEEDED for more than kMaxMaskedValues values.
  absl::Status Check() const;
  // Returns the largest magnitude, in units, that one of `members` participants can add to a value:
  // MaxUnitsBeforeNoise and its share of the noise. Fails with INVALID_ARGUMENT if dp::SplitNoise
  // does.
  absl::StatusOr<int64_t> MaxUnitsPerMember(size_t members) const;
  // Returns the SHA-256 over all fields; docs/wire-format.md has the bytes.
  Digest Hash() const;
};

struct CliqueMember {
  NodeId id{};
  MaskPublicKey key{};
  bool operator==(const CliqueMember&) const = default;
};

// The participants of one masked sum, ascending by id. It is a plain value.
struct Clique {
  MaskedSumId round;
  Digest layout{};  // MaskLayout::Hash
  std::vector<CliqueMember> members;

  // Returns CLIQUE_INVALID unless there are kMinCliqueMembers to kMaxCliqueMembers members,
  // ascending by id, with different keys.
  absl::Status Check() const;
  // Returns the member with this id, or nullptr.
  const CliqueMember* Find(const NodeId& id) const;
  // Returns whether this is `former` without some of its members.
  bool IsRestartOf(const Clique& former) const;
  // Returns a hash that names the set: another member, key, round or layout gives another hash.
  Digest SetHash() const;
  bool operator==(const Clique&) const = default;
};

}  // namespace ruvd::privacy::masking
