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

// Chooses which neighbour to ask for a link to a member that cannot be dialled: one after the
// other, those that failed lately last, and with a growing pause when all were asked. No node needs
// to know which members are linked; a neighbour that is asked knows its own links. Bounded. Not
// thread-safe.
class RelayPlanner {
 public:
  // How an attempt through one relay ended.
  enum class End {
    kRefused,  // the relay is not to blame
    kFailed,   // the relay lost or altered what it carried, or did not answer
    kClosed,   // the link had been open
  };

  // Begins to look for a relay to `target`. Returns false if a search is in progress or pauses, or
  // if there are already kMaxRelaySearches.
  bool Begin(const privacy::NodeId& target, DialPurpose purpose, TimePoint now);
  // Returns the neighbour in `relays` to ask next; nullopt if none is left, which ends the search.
  std::optional<privacy::NodeId> Next(const privacy::NodeId& target,
                                      std::span<const privacy::NodeId> relays, TimePoint now,
                                      Random& random);
  // The link to the target is open. Returns the purpose of the search.
  DialPurpose OnOpened(const privacy::NodeId& target);
  // An attempt that Next began has ended, or its link has.
  void OnEnded(const privacy::NodeId& target, const privacy::NodeId& relay, End end, TimePoint now);
  // A relay lost what it carried for this node, whichever side began the link.
  void Distrust(const privacy::NodeId& relay, TimePoint now);

  // Returns the targets whose next relay should be asked now, by id.
  std::vector<privacy::NodeId> Due() const;
  // The number of searches in progress for this purpose
  size_t Searching(DialPurpose purpose) const;

 private:
  struct Target {
    enum class Phase { kIdle, kAsking, kDue } phase = Phase::kIdle;
    DialPurpose purpose = DialPurpose::kMesh;
    std::set<privacy::NodeId> asked;  // relays asked in this search, or recently without success
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
