// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "federation/core/gossip_core.h"
#include "federation/events/item.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/global_state.h"
#include "privacy/identity/node_key.h"
#include "tests/sim/rounds_check.h"

namespace ruvd::test {

// The ClusterRounds of one process of a node, driven as node/actors/round_learning.cc drives them,
// with a check of every state that they settle or offer. Not thread-safe.
class SimRounds {
 public:
  // `saved` is what the disk has. Both references must outlive this object.
  SimRounds(const RoundsModel& model, RoundsCheck& check, const privacy::NodeId& self,
            std::string_view saved, int64_t wall_ms);

  // ---- What the core said
  void OnItem(const federation::Item& item);
  void OnWithdrawn(const federation::Item& item);
  void OnDropped(const Digest& id);
  void ExcludeExpelled(const federation::GossipCore& core);
  // These items reach the rounds and are not among the node's: a seeded defect.
  void OnDefect(std::span<const federation::Item> items);

  // ---- Time. Returns a checkpoint to offer.
  std::optional<federation::ClusterRounds::Checkpoint> OnTime(int64_t wall_ms);
  // Returns the bytes to save, if they changed.
  std::optional<std::string> TakeSavedState() { return rounds_.TakeSavedState(); }
  // A state of others may contain a member that was expelled long ago.
  void ExcludeIfChanged(const federation::GossipCore& core);
  // Returns the running round if this process has not tried to contribute to it; then it has.
  std::optional<uint64_t> TakeDueRound();

  uint64_t now_round() const { return rounds_.now_round(); }
  const federation::GlobalState& StateBefore(uint64_t round) { return rounds_.StateBefore(round); }

 private:
  void Exclude(const privacy::NodeId& member);
  void Compare(bool expelled);

  RoundsCheck* check_;
  federation::ClusterRounds rounds_;
  uint64_t tried_ = 0;
};

}  // namespace ruvd::test
