// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
  uint64_t withdrawn = 0;               // items that their honest origin took back
  uint64_t states_settled = 0;          // rounds or more that a node folded into its state
  uint64_t states_taken = 0;            // states of others that a node took
  uint64_t withdrawn_lessons = 0;       // that honest nodes forgot
  uint64_t noised = 0;                  // contributions with noise that honest nodes gave
  uint64_t masked_shares = 0;           // that honest nodes gave
  uint64_t masked_in_sums = 0;          // of these, shares that are in a sum
  uint64_t masked_sums = 0;             // different ones that any node found
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
  // Honest nodes may hold different items of this node.
  void SetSpreadsTooMuch(size_t node) { nodes_[node].spreads_too_much = true; }

  // ---- What happens to nodes.
  void Started(size_t node, uint64_t boot_counter);
  void Crashed(size_t node);
  // A network fault that may make a running node look dead began or ended.
  void Disturbed(size_t node) { nodes_[node].disturbed = queue_->now(); }

  // ---- What nodes do. A node's key signed an item. All items that are not reported here are
  // forged.
  void Signed(size_t node, const Digest& id, const std::string& payload,
              int64_t expires_ms = std::numeric_limits<int64_t>::max());
  void Acknowledged(const Digest& id);
  // The node durably said that it takes an item back: no node may keep it.
  void Withdrawn(const Digest& id);
  // The node has a newer item in place of this one, if it is its own: no node need keep it.
  void Replaced(size_t node, const Digest& id);
  // The node has another key from now on: what it signed until now is of the former one.
  void KeyReplaced(size_t node);
  // The revocation list ends the node's former key: no node need keep what it signed.
  void KeyEnded(size_t node);
  // The node lets a contribution leave. `charged`: its disk has the charge, whatever happens.
  void Released(size_t node, const Digest& id, std::string_view kind, bool charged);
  // The node lets its share of a masked sum, or a contribution with noise, leave. Each one needs a
  // round and a charge of its own.
  void ReleasedInRound(size_t node, uint64_t round, const Digest& id, std::string_view kind,
                       bool charged);
  // The node forgot a lesson, and what it lets leave from now on is not made from it.
  void LessonWithdrawn(size_t node, const std::string& lesson);
  // The node lets something of this kind leave that was made from these lessons.
  void MadeFrom(size_t node, const Digest& id, std::string_view kind,
                const std::vector<std::string>& lessons);
  // A lesson was withdrawn: none of these items, which leave without noise, may be made from it.
  void CheckTakenBack(size_t node, const std::string& lesson, const std::vector<Digest>& plain);
  // The node lets an item leave whose kind its operator's tier does not allow.
  void LeftUnderOtherTier(size_t node, const Digest& id, std::string_view kind);
  // The ledger of the node has two charges for one round.
  void ChargedTwice(size_t node, const std::string& subject);
  void Accepted(size_t node, const federation::Item& item, bool own);
  void MemberSeen(size_t node, const federation::Member& member);
  void Refused(size_t node, federation::LinkId link, const absl::Status& status);
  // A node keeps a member out.
  void Graylisted(size_t node, const privacy::NodeId& member);
  // After a start, the ledger of a node reports that this much is spent, by so many charges.
  void LedgerRead(size_t node, uint64_t spent, bool whole, size_t charges);
  void LedgerCharged(size_t node, uint64_t spent) { nodes_[node].spent = spent; }

  // ---- Judgement at the end.
  // `held` are the ids of a node's items. Items that expire about now may be held or not, and so
  // may those of nodes that spread too much, and items of rounds of a key that has ended.
  void CheckItems(size_t node, const std::set<Digest>& held, const std::set<Digest>& expected);
  std::set<Digest> WithoutExpiring(const std::set<Digest>& held) const;
  void CheckMembers(size_t node, const std::vector<federation::Member>& members,
                    const std::vector<size_t>& honest);
  void Violate(std::string invariant, std::string detail);
  // Returns a text with the time and the node.
  std::string Where(size_t node) const;

  const std::vector<Violation>& violations() const { return violations_; }
  // Returns how many items of honest nodes every honest node must hold now.
  size_t due() const;
  // Returns how many deliveries of acknowledged items were due.
  uint64_t DueDeliveries() const;
  Measures& measures() { return measures_; }
  const Measures& measures() const { return measures_; }

 private:
  struct Node {
    bool byzantine = false;
    bool spreads_too_much = false;
    bool up = false;
    uint64_t boot_counter = 0;
    uint64_t crash = 0;  // number of the crash because of which it is down
    TimePoint since{};   // time of the last start or crash
    TimePoint disturbed{Duration(-kQuiet)};
    uint64_t spent = 0;
    size_t releases = 0;
    bool uncharged = false;  // one is known that left without a charge
    uint64_t shared_in = 0;  // the newest round to which it gave something with noise
    std::set<std::string> withdrawn_lessons;
    std::map<Digest, std::vector<std::string>> lessons_of;  // by what left without noise
    bool charged_twice = false;
  };
  struct SignedItem {
    size_t origin = 0;
    Digest payload_hash{};
    TimePoint at{};
    uint32_t number = 0;
    int64_t expires_ms = 0;
    uint64_t deliveries = 0;
    bool acknowledged = false;
    bool withdrawn = false;
    bool replaced = false;
    bool of_former_key = false;
  };
  // A member that started or was cut off this long ago should be seen in its real state.
  static constexpr Duration kQuiet = std::chrono::seconds(90);

  bool IsDue(const SignedItem& item) const;
  bool Expires(const SignedItem& item) const;
  void CheckMember(size_t node, const federation::Member& member, size_t subject);
  void NoteState(size_t node, const federation::Member& member, size_t subject);

  const EventQueue* queue_;
  const SimNetwork* network_;
  std::vector<Node> nodes_;
  std::map<Digest, SignedItem> signed_;
  std::unordered_set<uint64_t> delivered_;  // item number << 32 | node
  std::unordered_set<uint64_t> noticed_;    // crash << 33 | observer << 1 | dead
  std::vector<Violation> violations_;
  uint64_t crashes_ = 0;
  Measures measures_;
};

}  // namespace ruvd::test
