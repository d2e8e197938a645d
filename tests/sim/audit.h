// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "federation/events/actions.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/histogram.h"
#include "tests/sim/sim_network.h"

namespace ruvd::test {

// An event that must never happen, with enough detail to investigate it.
struct Violation {
  std::string invariant;  // "forged_item", ...
  std::string detail;
};

// What a world measures of its honest nodes.
struct Measures {
  uint64_t offered = 0;       // items of honest nodes
  uint64_t acknowledged = 0;  // items of these that their own node has synced
  uint64_t deliveries = 0;    // first arrivals at other honest nodes
  uint64_t due_deliveries = 0;
  uint64_t delivered_bytes = 0;         // payloads of items that honest nodes took
  uint64_t payload_bytes_received = 0;  // chunks that honest nodes received, useful or not
  uint64_t accepted_byzantine = 0;      // well-formed items that Byzantine nodes signed
  uint64_t false_suspicions = 0;        // of (observer, member) while the member ran
  uint64_t false_deaths = 0;
  uint64_t graylisted = 0;  // pairs (honest node, Byzantine member that it keeps out at the end)
  Histogram delivery;       // seconds from offer to acceptance
  Histogram suspicion;      // seconds from a crash to the state "suspect", for every observer
  Histogram death;          // seconds from a crash to the state "dead", where the core has one
  Histogram heal;           // seconds from the end of a cut to equal items
  Histogram adapter_error;  // Learning::ErrorOf at the end of each world that learns
  std::map<std::string, uint64_t> refused;         // by reason, over links to Byzantine nodes
  std::map<std::string, uint64_t> refused_honest;  // by reason, over links between honest nodes
  std::map<std::string, std::string> refused_honest_first;  // first of each reason: when, what

  void Merge(const Measures& other);
};

// Knows what really happened in a world and judges what its honest nodes believe: every accepted
// item was signed by the node that it names, every member is seen in its real state, no ledger
// forgets. Not thread-safe.
class Audit {
 public:
  Audit(const EventQueue& queue, const SimNetwork& network, size_t nodes);

  size_t nodes() const { return nodes_.size(); }
  void SetByzantine(size_t node) { nodes_[node].byzantine = true; }
  bool Byzantine(size_t node) const { return nodes_[node].byzantine; }

  // ---- What happens to nodes.
  void Started(size_t node, uint64_t boot_counter);
  void Crashed(size_t node);
  // A network fault that may make a running node look dead began or ended.
  void Disturbed(size_t node) { nodes_[node].disturbed = queue_->now(); }

  // ---- What nodes do. A node's key signed an item. All items that are not reported here are
  // forged.
  void Signed(size_t node, const Digest& id, const std::string& payload);
  void Acknowledged(const Digest& id);
  void Accepted(size_t node, const federation::Item& item, bool own);
  void MemberSeen(size_t node, const federation::Member& member);
  void Refused(size_t node, federation::LinkId link, const absl::Status& status);
  // A node keeps a member out.
  void Graylisted(size_t node, const privacy::NodeId& member);
  // After a start, the ledger of a node reports that this much is spent.
  void LedgerRead(size_t node, uint64_t spent, bool whole);
  void LedgerCharged(size_t node, uint64_t spent) { nodes_[node].spent = spent; }

  // ---- Judgement at the end.
  // `held` are the ids of a node's items.
  void CheckItems(size_t node, const std::set<Digest>& held, const std::set<Digest>& expected);
  void CheckMembers(size_t node, const std::vector<federation::Member>& members,
                    const std::vector<size_t>& honest);
  void Violate(std::string invariant, std::string detail);

  const std::vector<Violation>& violations() const { return violations_; }
  // Items that honest nodes acknowledged.
  std::vector<Digest> AcknowledgedItems() const;
  size_t acknowledged() const { return acknowledged_; }
  Measures& measures() { return measures_; }
  const Measures& measures() const { return measures_; }

 private:
  struct Node {
    bool byzantine = false;
    bool up = false;
    uint64_t boot_counter = 0;
    uint64_t crash = 0;  // number of the crash because of which it is down
    TimePoint since{};   // time of the last start or crash
    TimePoint disturbed{Duration(-kQuiet)};
    uint64_t spent = 0;
  };
  struct SignedItem {
    size_t origin = 0;
    Digest payload_hash{};
    TimePoint at{};
    uint32_t number = 0;
    bool acknowledged = false;
  };
  // A member that started or was cut off this long ago should be seen in its real state.
  static constexpr Duration kQuiet = std::chrono::seconds(90);

  std::string Where(size_t node) const;
  void CheckMember(size_t node, const federation::Member& member, size_t subject);
  void NoteState(size_t node, const federation::Member& member, size_t subject);

  const EventQueue* queue_;
  const SimNetwork* network_;
  std::vector<Node> nodes_;
  std::map<Digest, SignedItem> signed_;
  std::unordered_set<uint64_t> delivered_;  // item number << 32 | node
  std::unordered_set<uint64_t> noticed_;    // crash << 33 | observer << 1 | dead
  std::vector<Violation> violations_;
  size_t acknowledged_ = 0;
  uint64_t crashes_ = 0;
  Measures measures_;
};

}  // namespace ruvd::test
