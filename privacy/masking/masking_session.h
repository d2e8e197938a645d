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

namespace ruvd::privacy::masking {

// What a participant adds to one sum: its clipped update with its own share of the noise.
struct MaskInput {
  // The charge in the privacy ledger that pays for it. A share for another set of participants is
  // another release, of fresh noise and another charge: the difference of two sums over the same
  // input would be the input of whoever is in one of them alone.
  uint64_t reservation = 0;
  // How many participants its share of the noise was made for (dp::ShareNoise).
  uint32_t contributors = 0;
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
  // `last_reservation` is the newest one that the ledger says was used, 0 for none: inputs that it
  // or an older one paid for are refused. A session knows nothing of others, so that an update goes
  // into one sum only if the caller reads this from the ledger and never gives one update two
  // charges. `random` makes the key and is not kept. Errors of MaskLayout::Check.
  static absl::StatusOr<MaskingSession> Begin(const MaskRound& round, const MaskLayout& layout,
                                              const NodeId& self, uint64_t last_reservation,
                                              const dp::RandomBytes& random);

  // What the others need of this node.
  MaskOffer offer() const;

  // Notes what another node offers; its envelope has been verified. MASK_LAYOUT_MISMATCH for
  // another layout, INVALID_ARGUMENT for another round, CLIQUE_INVALID for a second key of one
  // node or a key that another one offered (the message names both), KEY_INVALID, LIMIT_EXCEEDED.
  // The same offer again changes nothing.
  absl::Status AddOffer(const NodeId& sender, const MaskOffer& offer);

  // This node and those of `others`, who must have offered. CLIQUE_INVALID as Clique::Check.
  absl::StatusOr<Clique> CliqueOf(std::span<const NodeId> others) const;

  // This node's share of the sum over `clique`, which may come from another node: every key in it
  // must be the one that its owner offered. MASK_REUSED for a set that had a share before (send the
  // same bytes again), for an input whose reservation is not newer than all used before, for a set
  // that is not the former one less some drop-outs, and after kMaxMaskAttempts; CLIQUE_INVALID,
  // MASK_LAYOUT_MISMATCH; UPDATE_INVALID for an input of another size, with noise for another
  // number of contributors, or with a value above MostUnitsOfOne; INVALID_ARGUMENT where too many
  // of so few members may collude. The input is wiped.
  absl::StatusOr<MaskedUpdate> Mask(const Clique& clique, MaskInput input);

 private:
  MaskingSession(const MaskRound& round, const MaskLayout& layout, const NodeId& self,
                 uint64_t last_reservation, MaskKey key);
  absl::Status CheckClique(const Clique& clique) const;
  absl::Status CheckFresh(const Clique& clique, uint64_t reservation) const;
  absl::Status CheckInput(const Clique& clique, const MaskInput& input) const;

  MaskRound round_;
  MaskLayout layout_;
  Digest layout_hash_;
  NodeId self_;
  MaskKey key_;
  std::map<NodeId, MaskPublicKey> offers_;  // with our own
  std::vector<Clique> masked_;              // every set that had a share, in order
  uint64_t last_reservation_;
};

}  // namespace ruvd::privacy::masking
