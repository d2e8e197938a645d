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

// How often a peer's updates helped, as this node's own held-out text showed and by nothing else:
// (1 + helped) / (2 + helped + harmed) (the mean of a beta posterior, Josang and Ismail 2002, "The
// beta reputation system"). An update is one verdict however many banks it has and rounds it takes
// part in: chance must not add up. Verdicts fade by a tenth each round, so that who was left out is
// measured again. Bounded by kMaxMembers. Not thread-safe.
class ReputationTable {
 public:
  // What an update of a peer, named by the hash of its bytes, did alone in each bank, as measured
  // in a round of this node. Its verdict is shared between help and harm as the banks that show
  // them are; one that shows neither does not count. If it is the peer's last one measured again,
  // the newer measurement counts. Where the table is full, the peer that least is known of makes
  // room.
  void Record(const privacy::NodeId& peer, const Digest& update, uint64_t round,
              std::span<const BankScore> alone, const GateOptions& options);
  // In a round of this node: 0 to 1; 0.5 for a peer that nothing is known of.
  double Of(const privacy::NodeId& peer, uint64_t round) const;
  void Forget(const privacy::NodeId& peer) { peers_.erase(peer); }
  size_t size() const { return peers_.size(); }

  // What is known of a peer, for a table that outlives this one.
  struct Known {
    privacy::NodeId peer{};
    double helped = 0;  // of updates before the last one
    double harmed = 0;
    Digest last{};  // the last one's bytes
    double last_helped = 0;
    double last_harmed = 0;
    bool operator==(const Known&) const = default;
  };
  // As it is in a round, by peer.
  std::vector<Known> All(uint64_t round) const;
  // A table that goes on in a round where another one was. INVALID_ARGUMENT for more than
  // kMaxMembers, peers that do not ascend, and numbers that are none of verdicts.
  static absl::StatusOr<ReputationTable> Restore(std::span<const Known> known, uint64_t round);

 private:
  struct Verdicts {
    double helped = 0;  // of updates before the last one
    double harmed = 0;
    Digest last{};
    double last_helped = 0;
    double last_harmed = 0;
    uint64_t round = 0;  // that the numbers are of
  };
  static Verdicts FadedTo(uint64_t round, Verdicts verdicts);
  std::map<privacy::NodeId, Verdicts> peers_;
};

}  // namespace ruvd::federation
