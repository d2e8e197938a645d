// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "privacy/identity/node_key.h"

namespace ruvd {

// Decides which addresses to dial when, with full-jitter backoff per address. Seeds and members
// that fell silent are always worth a try, since a partition heals through them; other members in
// random order while fewer than kTargetLinks links exist or are being made. Not thread-safe.
class DialPlanner {
 public:
  DialPlanner(std::vector<std::string> seeds, std::string own_address);

  // An address of a member, perhaps known already. At most kMaxAddresses are kept.
  // `silent`: the member is suspected.
  void AddAddress(const std::string& address, const NodeId& owner, bool silent);
  void OnOpened(const std::string& address);
  // The handshake over a dialled link showed who lives there.
  void OnIdentified(const std::string& address, const NodeId& owner);
  // `hopeless`: the peer refused us for a reason that time alone does not mend.
  void OnFailed(const std::string& address, bool hopeless, TimePoint now, Random& random);
  // The address is our own.
  void OnSelf(const std::string& address);

  // Addresses to dial now. `linked` are the peers with a link, of any state.
  std::vector<std::string> Plan(const std::set<NodeId>& linked, size_t links, TimePoint now,
                                Random& random);

 private:
  struct Target {
    bool seed = false;
    bool self = false;
    bool silent = false;
    bool hopeless = false;
    int attempts = 0;
    TimePoint next_try{};
    std::optional<TimePoint> dialing_since;
    std::optional<NodeId> owner;
  };
  bool Due(const Target& target, const std::set<NodeId>& linked, TimePoint now) const;

  std::map<std::string, Target> targets_;
};

}  // namespace ruvd
