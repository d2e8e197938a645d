// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/bank_gate.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// How often a peer's updates helped, measured only on this node's own held-out text: (1 + helped) /
// (2 + helped + harmed), the mean of a beta posterior (Josang and Ismail 2002, "The beta reputation
// system"). An update is one verdict, however many banks it has and rounds it takes part in, so
// that chance does not add up. Verdicts fade by a tenth each round, so a peer that was left out is
// measured again. Holds at most kMaxMembers peers. Not thread-safe.
class ReputationTable {
 public:
  // Records what a peer's update, identified by the hash of its bytes, did alone in each bank, as
  // measured in a round of this node. Its verdict is divided between help and harm in proportion to
  // the banks that show them; an update that shows neither does not count. If it is the peer's last
  // update, measured again, the newer measurement replaces the older one. If the table is full, the
  // peer with the least evidence is dropped.
  void Record(const privacy::NodeId& peer, const Digest& update, uint64_t round,
              std::span<const BankScore> alone, const GateOptions& options);
  // Returns the reputation in a round of this node, 0 to 1; 0.5 for an unknown peer.
  double Of(const privacy::NodeId& peer, uint64_t round) const;
  void Forget(const privacy::NodeId& peer) { peers_.erase(peer); }
  size_t size() const { return peers_.size(); }

  // What is known about a peer, for a table that replaces this one.
  struct Known {
    privacy::NodeId peer{};
    double helped = 0;  // from updates before the last one
    double harmed = 0;
    Digest last{};  // hash of the last update's bytes
    double last_helped = 0;
    double last_harmed = 0;
    bool operator==(const Known&) const = default;
  };
  // Returns the state of the table in a round, sorted by peer.
  std::vector<Known> All(uint64_t round) const;
  // Makes a table that continues another one in a round. INVALID_ARGUMENT for more than kMaxMembers
  // peers, peers that do not ascend, and numbers that verdicts cannot give.
  static absl::StatusOr<ReputationTable> Restore(std::span<const Known> known, uint64_t round);

 private:
  struct Verdicts {
    double helped = 0;  // from updates before the last one
    double harmed = 0;
    Digest last{};
    double last_helped = 0;
    double last_harmed = 0;
    uint64_t round = 0;  // the round in which the numbers are valid
  };
  static Verdicts DecayedTo(uint64_t round, Verdicts verdicts);
  std::map<privacy::NodeId, Verdicts> peers_;
};

}  // namespace ruvd::federation
