// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "federation/events/actions.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/withdrawal_store.h"

namespace ruvd::sharing {

// The number of items that a node withdrew.
struct WithdrawnCounts {
  uint32_t updates = 0;
  uint32_t patterns = 0;  // each pattern counts once, even if peers could get several versions
  uint32_t items() const { return updates + patterns; }
};

// What this node withdrew of its sent items, as signed records for its peers. A new record repeats
// the contents of the previous one while there is room, so that peers need to keep few records. Not
// thread-safe.
class OwnWithdrawals {
 public:
  using PatternName = privacy::Withdrawal::PatternName;

  // `key` must outlive this object. If `store` is null, nothing is repeated after a restart.
  OwnWithdrawals(const privacy::NodeKey& key, storage::WithdrawalStore* store)
      : key_(key), store_(store) {}

  // Returns the newest stored records, which some peers may not know, in order of time; at most as
  // many as peers keep for one node.
  std::vector<privacy::Withdrawal> LoadStored(int64_t now_ms) const;

  // Notes a withdrawn item of this node, or the withdrawn items in a core's actions.
  void Add(const federation::Item& item);
  void Add(const federation::Actions& actions);
  // Signs and stores what was noted since the last call, and returns the records. A failure to
  // store is only logged, because the items are no longer offered in either case. `offered` names
  // the patterns that peers may still get.
  std::vector<privacy::Withdrawal> Take(const std::set<PatternName>& offered, int64_t now_ms);

  bool pending() const { return !updates_.empty() || !patterns_.empty(); }
  // Returns the totals since the start of the node.
  const WithdrawnCounts& total() const { return total_; }

 private:
  absl::StatusOr<privacy::Withdrawal> Sign(std::vector<Digest> updates,
                                           std::vector<PatternName> patterns, int64_t now_ms);

  const privacy::NodeKey& key_;
  storage::WithdrawalStore* const store_;
  std::set<Digest> updates_;
  std::map<PatternName, int64_t> patterns_;  // with the creation time of the newest version
  privacy::Withdrawal latest_;
  WithdrawnCounts total_;
};

}  // namespace ruvd::sharing
