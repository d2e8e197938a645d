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

// What a participant adds to one sum: its clipped update with its own share of the noise. A share
// for another set of participants is another release, and needs fresh noise and its own charge:
// otherwise the difference of two sums over the same inputs would reveal the input of a node that
// is in only one of them.
struct MaskInput {
  // The number of participants for which the share of the noise was computed (dp::SplitNoise)
  uint32_t contributors = 0;
  std::vector<int32_t> units;
};

// One node's part in the masked sum of one round (pairwise masks as in Bonawitz et al. 2017,
// "Practical secure aggregation for privacy-preserving machine learning", without the recovery of
// drop-outs: when a node drops out, the others start again without it). It does no I/O. Not
// thread-safe.
//
// The order of calls is offer(), AddOffer() for the others, CliqueOf() on the leading node, Mask(),
// MaskedSum. After a drop-out it is CliqueOf() with the remaining nodes, then Mask() with a new
// input.
class MaskingSession {
 public:
  // A session does not know other sessions, nor what was paid: its caller charges for each share
  // that leaves. `random` makes the key and is not kept. Fails as MaskLayout::Check does.
  static absl::StatusOr<MaskingSession> Begin(const MaskedSumId& round, const MaskLayout& layout,
                                              const NodeId& self, const dp::RandomBytes& random);

  // Returns what the other nodes need from this node.
  MaskOffer offer() const;

  // Records the offer of another node, whose envelope must have been verified. Fails with
  // MASK_LAYOUT_MISMATCH for another layout, INVALID_ARGUMENT for another round, CLIQUE_INVALID for
  // a second key of one node or for a key that another node offered (the message names both),
  // KEY_INVALID, or LIMIT_EXCEEDED. Adding the same offer again changes nothing.
  absl::Status AddOffer(const NodeId& sender, const MaskOffer& offer);

  // Returns the clique of this node and `others`, which must have made offers. Fails with
  // CLIQUE_INVALID as Clique::Check does.
  absl::StatusOr<Clique> CliqueOf(std::span<const NodeId> others) const;

  // Returns this node's share of the sum over `clique`, and wipes the input. The clique may come
  // from another node, so every key in it must be the one that its owner offered. Fails with
  // MASK_REUSED for a set that had a share before (send the same bytes again), for a set that is
  // not the former one without some members, and after kMaxMaskAttempts. Fails with UPDATE_INVALID
  // for an input of another size, with noise for another number of contributors, or with a value
  // above MaxUnitsPerMember. Fails with INVALID_ARGUMENT if the layout allows too many colluders
  // for so few members, and with CLIQUE_INVALID and MASK_LAYOUT_MISMATCH.
  absl::StatusOr<MaskedUpdate> Mask(const Clique& clique, MaskInput input);

 private:
  MaskingSession(const MaskedSumId& round, const MaskLayout& layout, const NodeId& self,
                 MaskKey key);
  absl::Status CheckClique(const Clique& clique) const;
  absl::Status CheckFresh(const Clique& clique) const;
  absl::Status CheckInput(const Clique& clique, const MaskInput& input) const;

  MaskedSumId round_;
  MaskLayout layout_;
  Digest layout_hash_;
  NodeId self_;
  MaskKey key_;
  std::map<NodeId, MaskPublicKey> offers_;  // including our own
  std::vector<Clique> masked_;              // the sets that had a share, in order
};

}  // namespace ruvd::privacy::masking
