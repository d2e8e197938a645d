// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "absl/status/status.h"
#include "federation/events/item.h"
#include "federation/masked/conduct.h"
#include "privacy/identity/node_key.h"

namespace ruvd::sharing {

// Counts the shares of masked sums that a node paid for in vain, so that one member that spoils
// sums cannot spend the whole budget of the others. After a restart it counts the shares of rounds
// whose sums are made again from the items, so older losses are forgotten. A sum that was voided
// before the restart counts as lost after it. Not thread-safe.
class LostShares {
 public:
  explicit LostShares(const privacy::NodeId& self) : self_(self) {}

  // Notes this node's shares among the items before `round` begins, and forgets rounds that are
  // more than kConductRounds older. Shares of rounds before `first_live`
  // (ClusterRounds::FirstLiveRound) are passed over: whether they have a sum is not looked at.
  void NoteShares(std::span<const federation::Item> items, uint64_t first_live, uint64_t round);
  // Notes that a sum of a round contains this node. It stays noted if the sum is voided afterwards,
  // because a member that takes back what it gave spoils no sum.
  void NoteSum(uint64_t round);
  // Returns MASKED_ROUND_FAILED, saying until when, if kMaxLostShares shares of rounds before
  // `round` came to nothing.
  absl::Status Check(uint64_t round) const;

 private:
  privacy::NodeId self_;
  std::set<uint64_t> shared_;  // rounds to which this node gave a share
  std::set<uint64_t> summed_;  // rounds with a sum that contains it
};

// Logs which members are left out from `round` on.
void LogLeftOut(const federation::Conduct& conduct, uint64_t round);

}  // namespace ruvd::sharing
