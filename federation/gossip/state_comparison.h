// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <optional>
#include <set>

#include "federation/events/state_digest.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Compares this node's state of the cluster's rounds with those that its neighbours name, and
// decides when a difference is worth an exchange. What they name is not signed, so a lie must cost
// little: for each state of this node an exchange is begun at most once with a peer, whatever the
// peer says, and with limits::kMaxStateExchanges peers. That is enough, because a peer whose state
// changes compares it itself. Not thread-safe.
class StateComparison {
 public:
  // This node holds another state now.
  void SetOwn(const StateDigest& own);
  // Takes what a linked peer says; nullopt: it has no state. Returns whether to begin an exchange
  // with it.
  bool OnSaid(const privacy::NodeId& peer, const std::optional<StateDigest>& said);
  void LinkDown(const privacy::NodeId& peer) { peers_.erase(peer); }
  // Returns kUnknown for a node without a link.
  StateAgreement Of(const privacy::NodeId& peer) const;

 private:
  struct Peer {
    std::optional<StateDigest> said;
    // It is about the newest round that both named, and stays while the rounds are one apart,
    // because clocks differ a little.
    StateAgreement agreement = StateAgreement::kUnknown;
  };
  // Returns whether both named the same round, and then compares the digests.
  bool Compare(Peer& peer) const;

  std::optional<StateDigest> own_;
  std::map<privacy::NodeId, Peer> peers_;  // linked ones
  // Peers with which an exchange was begun for the present state. It outlasts their links, because
  // a new link must not buy another exchange.
  std::set<privacy::NodeId> asked_;
};

}  // namespace ruvd::federation
