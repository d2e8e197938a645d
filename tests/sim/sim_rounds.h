// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "federation/core/gossip_core.h"
#include "federation/events/item.h"
#include "federation/instant.h"
#include "federation/learner/global_state.h"
#include "node/sharing/node_rounds.h"
#include "tests/sim/rounds_check.h"

namespace ruvd::test {

// The NodeRounds of one process of a node, with a check of every state that they settle or offer.
// Not thread-safe.
class SimRounds {
 public:
  // `saved` is what the disk has. Both references must outlive this object.
  SimRounds(RoundsCheck& check, sharing::NodeRoundsOptions options, std::string_view saved,
            federation::Instant now);
  SimRounds(const SimRounds&) = delete;
  SimRounds& operator=(const SimRounds&) = delete;

  // ---- What the core said
  void OnItem(const federation::Item& item);
  void OnWithdrawn(const federation::Item& item);
  void OnDropped(const federation::ItemDropped& dropped);
  void ExcludeExpelled(const federation::GossipCore& core);
  // These items reach the rounds and are not among the node's: a seeded defect.
  void OnDefect(std::span<const federation::Item> items);

  // ---- What the owner does
  sharing::RoundsOutput OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                               federation::Instant now);
  // Counts the sums of a round in the next one, too: a seeded defect. Returns whether there are
  // any.
  bool CountSumsAgain(uint64_t round);

  // For everything that settles no round.
  sharing::NodeRounds& node() { return *rounds_; }
  uint64_t now_round() const { return rounds_->cluster().now_round(); }
  const federation::GlobalState& StateBefore(uint64_t round) {
    return rounds_->cluster().StateBefore(round);
  }

 private:
  void Compare(bool may_begin_anew);

  RoundsCheck* check_;
  bool masks_ = false;  // the plan has masked sums
  std::unique_ptr<sharing::NodeRounds> rounds_;
};

}  // namespace ruvd::test
