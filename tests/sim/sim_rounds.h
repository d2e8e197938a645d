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
#include "node/sharing/masked_contributions.h"
#include "privacy/identity/node_key.h"
#include "tests/sim/rounds_check.h"

namespace ruvd::test {

// The ClusterRounds and MaskedContributions of one process of a node, driven as
// node/actors/round_learning.cc drives them, with a check of every state that they settle or offer.
// Not thread-safe.
class SimRounds {
 public:
  // `saved` is what the disk has. Both references must outlive this object.
  SimRounds(const RoundsModel& model, RoundsCheck& check, const privacy::NodeId& self,
            std::string_view saved, int64_t wall_ms);
  // From now on the node finds masked sums, and may take part in them.
  void AddMasked(sharing::MaskedContributionsOptions options);

  // ---- What the core said
  void OnItem(const federation::Item& item);
  void OnWithdrawn(const federation::Item& item);
  void OnDropped(const Digest& id);
  void ExcludeExpelled(const federation::GossipCore& core);
  // These items reach the rounds and are not among the node's: a seeded defect.
  void OnDefect(std::span<const federation::Item> items);

  // ---- Time. Returns a checkpoint to offer.
  std::optional<federation::ClusterRounds::Checkpoint> OnTime(const federation::GossipCore& core,
                                                              int64_t wall_ms);
  // Advances masked rounds after OnTime, and returns what the core has to send.
  federation::Actions OnMaskedTime(federation::GossipCore& core, int64_t consent_since_ms,
                                   federation::Instant now);
  // Null in a world without masked sums.
  sharing::MaskedContributions* masked() { return masked_ ? &*masked_ : nullptr; }
  // Counts the sums of a round in the next one, too: a seeded defect. Returns whether there are
  // any.
  bool CountSumsAgain(uint64_t round);
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
  void Compare(bool may_begin_anew);

  RoundsCheck* check_;
  federation::ClusterRounds rounds_;
  std::optional<sharing::MaskedContributions> masked_;
  uint64_t tried_ = 0;
};

}  // namespace ruvd::test
