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

// What a link is dialled for.
enum class DialPurpose {
  kMesh,      // a neighbour that pushes
  kHeal,      // a member that fell silent: perhaps a partition is over
  kExchange,  // one round of anti-entropy
  kCheck,     // a neighbour wants to know whether the member lives
};

// Remembers which addresses are being dialled and which failed, with full-jitter backoff per
// address, and which seeds are worth a try. Bounded; not thread-safe.
class DialPlanner {
 public:
  DialPlanner(std::vector<std::string> seeds, std::string own_address);

  // Begins to dial. False if the address is this node's own, under way, or backing off.
  bool Begin(const std::string& address, DialPurpose purpose, TimePoint now);
  void OnOpened(const std::string& address);
  // The handshake over a dialled link showed who lives there. Returns what it was dialled for.
  DialPurpose OnIdentified(const std::string& address, const privacy::NodeId& owner);
  // A dial failed or its link ended. `hopeless`: the peer refused us for a reason that time alone
  // does not mend.
  void OnFailed(const std::string& address, bool hopeless, TimePoint now, Random& random);
  // Another member that says to be there is worth a relay: so many dials in a row reached nobody,
  // or it is this node's own address, as that of a node which only its own machine can dial.
  bool Unreachable(const std::string& address) const;
  // The address is our own.
  void OnSelf(const std::string& address);

  // Dials that neither succeeded nor failed in time have failed.
  void Expire(TimePoint now, Random& random);
  // Dials of this purpose under way.
  size_t Dialing(DialPurpose purpose) const;
  // Seeds that may be dialled now: those whose owner is unknown or not `settled`, that is linked or
  // a member that lives; with `all`, every seed that is not linked.
  std::vector<std::string> DueSeeds(const std::function<bool(const privacy::NodeId&)>& linked,
                                    const std::function<bool(const privacy::NodeId&)>& settled,
                                    bool all, TimePoint now) const;

 private:
  struct Target {
    bool seed = false;
    bool self = false;
    bool hopeless = false;
    int attempts = 0;
    int unanswered = 0;  // dials in a row that opened no link
    bool answered = false;
    TimePoint next_try{};
    DialPurpose purpose = DialPurpose::kMesh;
    std::optional<TimePoint> dialing_since;
    std::optional<privacy::NodeId> owner;
  };
  static bool Ready(const Target& target, TimePoint now) {
    return !target.self && !target.dialing_since && target.next_try <= now;
  }
  void MakeRoom();

  std::map<std::string, Target> targets_;
};

}  // namespace ruvd::federation
