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

// How many items a node took back.
struct TakenBack {
  uint32_t updates = 0;
  uint32_t patterns = 0;  // each once, however many versions peers could get
  uint32_t items() const { return updates + patterns; }
};

// What this node took back of what it had sent, as signed records for its peers. A record goes on
// to say what the one before said while there is room, so that peers keep few. Not thread-safe.
class OwnWithdrawals {
 public:
  using PatternName = privacy::Withdrawal::PatternName;

  // `key` outlives this. `store` may be null: then nothing is said again after a restart.
  OwnWithdrawals(const privacy::NodeKey& key, storage::WithdrawalStore* store)
      : key_(key), store_(store) {}

  // The newest records of an earlier life that peers may not have heard of, in order of time, as
  // many as peers keep of one node.
  std::vector<privacy::Withdrawal> Stored(int64_t now_ms) const;

  // Notes one of this node's items that was taken back, or those of a core's actions.
  void Add(const federation::Item& item);
  void Add(const federation::Actions& actions);
  // Signs and stores what was noted since the last call; what cannot be stored is logged, as
  // nothing is offered any more either way. `offered`: patterns that peers may get all the same.
  std::vector<privacy::Withdrawal> Take(const std::set<PatternName>& offered, int64_t now_ms);

  bool pending() const { return !updates_.empty() || !patterns_.empty(); }
  // Since the start of the node.
  const TakenBack& total() const { return total_; }

 private:
  absl::StatusOr<privacy::Withdrawal> Sign(std::vector<Digest> updates,
                                           std::vector<PatternName> patterns, int64_t now_ms);

  const privacy::NodeKey& key_;
  storage::WithdrawalStore* const store_;
  std::set<Digest> updates_;
  std::map<PatternName, int64_t> patterns_;  // with the creation of the newest version
  privacy::Withdrawal latest_;
  TakenBack total_;
};

}  // namespace ruvd::sharing
