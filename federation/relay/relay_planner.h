// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "federation/membership/dial_planner.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Which neighbour to ask for a link to a member that cannot be dialled: one after the other, those
// that failed lately last, and with a growing pause once all were asked. Nobody needs to know who
// is linked to whom: who was asked knows. Bounded; not thread-safe.
class RelayPlanner {
 public:
  // How an attempt through one relay ended.
  enum class End {
    kRefused,  // nobody is to blame
    kFailed,   // the relay lost or spoiled what it carried, or said nothing
    kClosed,   // the link had been open
  };

  // Begins to look for a relay to `target`. False while that goes on, pauses, or there are
  // kMaxRelaySearches.
  bool Begin(const privacy::NodeId& target, DialPurpose purpose, TimePoint now);
  // The relay to ask next of those that are neighbours. nullopt: none is left, and the search ends.
  std::optional<privacy::NodeId> Next(const privacy::NodeId& target,
                                      std::span<const privacy::NodeId> relays, TimePoint now,
                                      Random& random);
  // The link to the target is open. Returns what it was wanted for.
  DialPurpose OnOpened(const privacy::NodeId& target);
  // An attempt ended that Next began, or its link did.
  void OnEnded(const privacy::NodeId& target, const privacy::NodeId& relay, End end, TimePoint now);
  // What a relay was to carry was lost, whoever began it.
  void Distrust(const privacy::NodeId& relay, TimePoint now);

  // Targets whose next relay is to be asked now, by id.
  std::vector<privacy::NodeId> Due() const;
  // Searches for this purpose under way.
  size_t Searching(DialPurpose purpose) const;

 private:
  struct Target {
    enum class Phase { kIdle, kAsking, kDue } phase = Phase::kIdle;
    DialPurpose purpose = DialPurpose::kMesh;
    std::set<privacy::NodeId> asked;  // in this search, or lately in vain
    int attempts = 0;
    TimePoint next_try{};
  };
  struct Distrusted {
    int failures = 0;
    TimePoint until{};
  };
  int FailuresOf(const privacy::NodeId& relay, TimePoint now) const;

  std::map<privacy::NodeId, Target> targets_;
  std::map<privacy::NodeId, Distrusted> distrusted_;
};

}  // namespace ruvd::federation
