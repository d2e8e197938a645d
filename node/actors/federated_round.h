// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/adapter_delta.h"
#include "federation/daf/daf_round.h"
#include "federation/gossip/item.h"
#include "inference/adapter/frame.h"

namespace ruvd {

// What the newest updates of a cluster add up to, and what became of each.
struct FederatedRound {
  AdapterDelta delta;             // one core, for the bank of t = 1
  size_t contributors = 0;        // updates that it is made of; 0: `delta` is empty
  std::vector<PeerRecord> peers;  // by origin, the node's own among them
};

// Combines the updates of `newest`, one of each origin, by AggregateRound, as updates of one bank
// for all t, which is what payloads of version 1 are: none is stale, none is measured alone. From
// five updates on nearest-neighbour mixing with a trimmed mean, from three on clipping around the
// own one; of fewer each is clipped to norm 1, as nobody can outvote a liar then. An update that
// does not decode or has another frame, shape or norm is left out, and its record says why. Of more
// than kMaxContributions the newest count, the own one always. The errors of AggregateRound.
absl::StatusOr<FederatedRound> CombineNewest(std::vector<Item> newest, const Frame& frame,
                                             const Digest& model_hash, const NodeId& self);

}  // namespace ruvd
