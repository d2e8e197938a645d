// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/daf/daf_round.h"
#include "federation/events/item.h"
#include "node/sharing/masked_means.h"
#include "node/sharing/update_layout.h"

namespace ruvd::sharing {

struct FederatedRoundOptions {
  UpdateLayout layout;  // of this node
  privacy::NodeId self{};
  federation::StrategyOptions strategy;
  uint64_t round = 0;  // of this node, by which verdicts about peers fade
  // Scores what updates do alone, against nothing; null: none is measured, and weights by quality
  // are those of the timestep-aligned strategy.
  federation::ShadowEvaluation measure;
  federation::GateOptions gate;
  federation::ReputationTable* reputation = nullptr;  // of what is measured; null: peers have none
  MaskedMeanList sums;                                // of which no two share a member
};

// What the newest updates of a cluster say that each bank should be, and what became of each.
struct FederatedRound {
  federation::BankedValues target;            // by bank of the layout; zeros where nobody has a say
  std::vector<size_t> contributors;           // by bank: updates that it is made of
  std::vector<federation::PeerRecord> peers;  // by origin, the node's own among them
};

// Combines the updates of `newest`, one of each origin, by AggregateRound, in payloads of either
// version (ReadUpdate). All begin from the frozen model, so none is stale. From five updates on
// nearest-neighbour mixing with a trimmed mean, from three on clipping around the own one; of fewer
// each is clipped to norm 1, as nobody can outvote a liar then. An update that does not decode or
// has another model, frame, shape or norm is left out, and its record says why. Of more than
// kMaxContributions the newest count, the own one always. Each of `sums` is one update more, of the
// weight of its members; what a member of one says by itself is left out (IN_MASKED_SUM), so that
// nobody counts twice. The errors of AggregateRound.
absl::StatusOr<FederatedRound> CombineNewest(std::vector<federation::Item> newest,
                                             const FederatedRoundOptions& options);

}  // namespace ruvd::sharing
