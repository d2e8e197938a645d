// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The reason for dialling a link.
enum class DialPurpose {
  kMesh,      // to get a neighbour in the mesh
  kHeal,      // to reach a member that fell silent; a partition may have healed
  kExchange,  // for one round of anti-entropy
  kCheck,     // to check whether the member is alive, because a neighbour asked
};

// Remembers which addresses are being dialled and which failed (with full-jitter backoff per
// address), and which seeds are worth dialling. Bounded. Not thread-safe.
class DialPlanner {
 public:
  DialPlanner(std::vector<std::string> seeds, std::string own_address);

  // Begins a dial. Returns false if the address is this node's own, is being dialled, or is backing
  // off.
  bool Begin(const std::string& address, DialPurpose purpose, TimePoint now);
  void OnOpened(const std::string& address);
  // The handshake over a dialled link showed which node lives there. Returns the purpose of the
  // dial.
  DialPurpose OnIdentified(const std::string& address, const privacy::NodeId& owner);
  // A dial failed or its link ended. `hopeless` means that the peer refused this node for a reason
  // that does not go away by waiting.
  void OnFailed(const std::string& address, bool hopeless, TimePoint now, Random& random);
  // Returns whether it is worth asking a relay for a member at this address: either several dials
  // in a row reached no node, or the address is this node's own (a member can announce an address
  // that only its own machine can dial).
  bool Unreachable(const std::string& address, TimePoint now) const;
  // The address turned out to be this node's own. It is tried again after kSelfMemory, because it
  // may belong to another node then.
  void OnSelf(const std::string& address, TimePoint now);

  // Counts dials that neither succeeded nor failed in time as failed.
  void Expire(TimePoint now, Random& random);
  // The number of dials in progress for this purpose
  size_t Dialing(DialPurpose purpose) const;
  // Returns the seeds that may be dialled now: those whose owner is unknown or not `settled`
  // (linked, or a member that is alive); with `all`, every seed that is not linked.
  std::vector<std::string> DueSeeds(const std::function<bool(const privacy::NodeId&)>& linked,
                                    const std::function<bool(const privacy::NodeId&)>& settled,
                                    bool all, TimePoint now) const;

 private:
  struct Target {
    bool seed = false;
    TimePoint self_until{};  // it is this node's own address
    bool hopeless = false;
    int attempts = 0;
    int unanswered = 0;  // consecutive dials that opened no link
    bool answered = false;
    TimePoint next_try{};
    DialPurpose purpose = DialPurpose::kMesh;
    std::optional<TimePoint> dialing_since;
    std::optional<privacy::NodeId> owner;
  };
  static bool Ready(const Target& target, TimePoint now) {
    return target.self_until <= now && !target.dialing_since && target.next_try <= now;
  }
  void MakeRoom();

  std::map<std::string, Target> targets_;
};

}  // namespace ruvd::federation
