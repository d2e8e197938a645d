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

struct CombineOptions {
  UpdateLayout layout;  // of this node
  privacy::NodeId self{};
  federation::StrategyOptions strategy;
  uint64_t round = 0;  // of this node; verdicts on peers fade by round
  // Scores each update alone against the frozen model. Null: no update is measured, and weights by
  // quality equal those of the timestep-aligned strategy.
  federation::ShadowEvaluation measure;
  federation::GateOptions gate;
  federation::ReputationTable* reputation =
      nullptr;          // of measured peers; null: peers have no reputation
  MaskedMeanList sums;  // no two of them share a member
};

// The combined update of a cluster for each bank, and the outcome for each peer.
struct CombinedUpdate {
  federation::BankedValues target;   // by bank of the layout; zeros if no update has a weight
  std::vector<size_t> contributors;  // number of updates in each bank
  std::vector<federation::PeerRecord> peers;  // by origin, including this node
};

// Combines the updates of `newest`, one per origin, by AggregateRound. All updates
// begin from the frozen model, so no update is stale. Five or
// more updates are combined by nearest-neighbour mixing with a trimmed mean, and three or four by
// clipping around this node's own update. One or two are clipped to norm 1, because a liar cannot
// be outvoted then. An update that does not decode, or has another model, frame, shape or too large
// a norm, is left out, and its record says why. If there are more than kMaxContributions updates,
// the newest count, and this node's own always counts. Each of `sums` counts as one more update
// with the weight of its members; the single updates of these members are left out (IN_MASKED_SUM),
// so that no node counts twice. Returns the errors of AggregateRound.
absl::StatusOr<CombinedUpdate> CombineNewest(std::vector<federation::Item> newest,
                                             const CombineOptions& options);

}  // namespace ruvd::sharing
