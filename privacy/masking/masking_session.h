// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/mask_key.h"
#include "privacy/masking/messages.h"

namespace ruvd::masking {

// What a participant adds to one sum: its clipped update with its own share of the noise.
struct MaskInput {
  // The charge in the privacy ledger that pays for it. A share for another set of participants is
  // another release, of fresh noise and another charge: the difference of two sums over the same
  // input would be the input of whoever is in one of them alone.
  uint64_t reservation = 0;
  std::vector<int32_t> units;
};

// One node's part in the masked sum of one round (pairwise masks as in Bonawitz et al. 2017,
// "Practical secure aggregation for privacy-preserving machine learning", without the recovery of
// drop-outs: whoever drops out makes the others start again without it). Sans I/O; not
// thread-safe.
//
// offer() -> AddOffer() of the others -> CliqueOf() by whoever leads -> Mask() -> MaskedSum; after
// a drop-out CliqueOf() of those left -> Mask() with a new input.
class MaskingSession {
 public:
  // `random` makes the key and is not kept. LIMIT_EXCEEDED for a layout of too many values,
  // INVALID_ARGUMENT for one without any.
  static absl::StatusOr<MaskingSession> Begin(const MaskRound& round, const MaskLayout& layout,
                                              const NodeId& self, const dp::RandomBytes& random);

  // What the others need of this node.
  MaskOffer offer() const;

  // Notes what another node offers; its envelope has been verified. MASK_LAYOUT_MISMATCH for
  // another layout, INVALID_ARGUMENT for another round, CLIQUE_INVALID for a second key of one
  // node, KEY_INVALID, LIMIT_EXCEEDED. The same offer again changes nothing.
  absl::Status AddOffer(const NodeId& sender, const MaskOffer& offer);

  // This node and those of `others`, who must have offered. CLIQUE_INVALID as Clique::Check.
  absl::StatusOr<Clique> CliqueOf(std::span<const NodeId> others) const;

  // This node's share of the sum over `clique`, which may come from another node: every key in it
  // must be the one that its owner offered. MASK_REUSED for a set that had a share before (send the
  // same bytes again), for an input whose reservation paid before, for a set that is not the former
  // one less some drop-outs, and after kMaxMaskAttempts; CLIQUE_INVALID, MASK_LAYOUT_MISMATCH,
  // UPDATE_INVALID for an input of another size. The input is wiped.
  absl::StatusOr<MaskedUpdate> Mask(const Clique& clique, MaskInput input);

 private:
  MaskingSession(const MaskRound& round, const MaskLayout& layout, const NodeId& self, MaskKey key);
  absl::Status CheckClique(const Clique& clique) const;
  absl::Status CheckFresh(const Clique& clique, uint64_t reservation) const;

  MaskRound round_;
  size_t values_;
  Digest layout_;
  NodeId self_;
  MaskKey key_;
  std::map<NodeId, MaskPublicKey> offers_;  // with our own
  std::vector<Clique> masked_;              // every set that had a share, in order
  uint64_t last_reservation_ = 0;
};

}  // namespace ruvd::masking
