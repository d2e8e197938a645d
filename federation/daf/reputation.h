// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "federation/daf/bank_gate.h"
#include "privacy/identity/node_key.h"

namespace ruvd {

// How often a peer's updates helped, as this node's own held-out text showed and by nothing else:
// (1 + helped) / (2 + helped + harmed), older verdicts fading by a tenth each time (the mean of a
// beta posterior, Josang and Ismail 2002, "The beta reputation system"). Bounded by kMaxMembers.
// Not thread-safe.
class ReputationTable {
 public:
  // What an update of a peer alone did in each bank. Banks that show neither gain nor harm do not
  // count. Where the table is full, the peer that least is known of makes room.
  void Record(const NodeId& peer, std::span<const BankScore> alone, const GateOptions& options);
  // 0 to 1; 0.5 for a peer that nothing is known of.
  double Of(const NodeId& peer) const;
  void Forget(const NodeId& peer) { peers_.erase(peer); }
  size_t size() const { return peers_.size(); }

 private:
  struct Verdicts {
    double helped = 0;
    double harmed = 0;
  };
  std::map<NodeId, Verdicts> peers_;
};

}  // namespace ruvd
