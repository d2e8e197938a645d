// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/sim/adversary.h"
#include "tests/sim/audit.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/faults.h"
#include "tests/sim/learning.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {

struct ByzantineShare {
  AdversaryKind kind = AdversaryKind::kSilent;
  double share = 0;  // share of all nodes; below 0.5 in total
};

// Defects that are put into a world on purpose, so that tests can see its invariants fail. No
// defect changes the core.
enum class SeededDefect : uint8_t {
  kNone,
  kForgedItem,        // a node's store takes an item whose payload was altered
  kForgedMember,      // a node believes that a member has another address
  kHonestKeptOut,     // a node reports that it keeps out an honest node
  kUnsyncedItems,     // nodes acknowledge items that they have not synced
  kUnsyncedLedger,    // ledgers forget what a power cut takes
  kTrustingRule,      // nodes take the mean of whatever updates there are
  kDeafNode,          // only keep-alives ever reach one node's core
  kLateCharge,        // nodes charge a contribution when it has left
  kLateShareCharge,   // nodes charge a release with noise when it has left
  kRoundTwice,        // nodes count the last settled round again after a restart
  kWithdrawnReturns,  // nodes count withdrawn contributions again after a restart
  kWithdrawnLesson,   // nodes train lessons that were withdrawn
  kKeptContribution,  // nodes keep offering what is made from withdrawn lessons
  kChargedTwice,      // nodes do not ask whether a round is charged already
  kOtherInput,        // nodes put something else into masked sums than they say
  kSumTwice,          // a node counts masked sums in two rounds
  kOddNode,           // a node's rounds take a contribution that the node does not hold
};

struct WorldOptions {
  size_t nodes = 20;  // at least 2
  uint64_t seed = 1;
  double hours = 0.02;  // simulated length of the phase with faults
  size_t contacts = 4;  // addresses that a node begins with
  // Share of the nodes that cannot be dialled, although their records have an address: they are
  // behind a firewall.
  double undialable = 0;
  // If set, all nodes start at once and know each other's records, as in a cluster that existed
  // before; the shared records are kept once. Otherwise each node begins with its contacts and
  // learns about the others.
  bool established = false;
  // The seed picks the values that are not set here.
  std::optional<double> loss;  // of a segment, 0 to 0.5
  std::optional<std::vector<ByzantineShare>> byzantine;
  std::optional<std::set<Fault>> faults;
  std::optional<size_t> items;
  // Whether nodes learn together: they run rounds, and their contributions are those of Learning.
  // Worlds in which some nodes lie about that always learn.
  std::optional<bool> learning;
  // Whether some of them add up gradients under masks, and the others contribute theirs with noise
  // or openly.
  // Worlds in which some nodes lie in shares always do.
  std::optional<bool> masked;
  SeededDefect defect = SeededDefect::kNone;
};

struct WorldReport {
  uint64_t seed = 0;
  double loss = 0;
  std::vector<std::string> options;  // faults and Byzantine kinds of this seed
  size_t honest = 0;
  std::map<std::string, uint64_t> faults;  // injected, by kind
  std::vector<Violation> violations;
  Measures measures;
  double simulated_s = 0;
  double node_hours = 0;            // of honest nodes
  std::optional<double> settled_s;  // from the last fault to equal, complete knowledge
  NetworkCounters network;
  uint64_t events = 0;
  uint64_t trace_hash = 0;
};

// A cluster of real GossipCores over a simulated clock, network and disk, from one seed. It starts,
// goes through a phase in which items are offered and faults happen, then through one without
// faults (Byzantine members stay). At the end all honest nodes must hold the same items, among them
// every acknowledged one, and must see each other alive. Not thread-safe.
class World {
 public:
  explicit World(WorldOptions options);
  ~World();

  WorldReport Run();

 private:
  void PickOptions();
  void PickMasked();
  // Draws whether a node that learns takes part in masked sums.
  bool PicksMasked(const std::optional<AdversaryKind>& kind, size_t node);
  void MakeNodes();
  // Returns when a node starts for the first time.
  Duration StartOf(size_t node, bool honest);
  Duration Lasts() const;  // the phase with faults
  void Establish();
  std::vector<std::string> ContactsOf(size_t node, const std::vector<size_t>& honest);
  std::vector<std::optional<AdversaryKind>> PickAdversaries();
  void PlanItems(TimePoint begin, TimePoint end);
  void OfferItem(size_t attempt);
  void PlanRounds(TimePoint begin, TimePoint end);
  // What happens to members, as far as the seed picked it.
  void PlanMembers(TimePoint begin, TimePoint end);
  void PlanDeathsInReleases(TimePoint begin, TimePoint end);
  void WithdrawOne();
  void Revoke();
  void EndFormerKey(size_t node);
  // Signs the next revocation list, and gives the newest one to a random honest node.
  void SignList(const std::vector<privacy::NodeId>& nodes,
                const std::vector<privacy::EndedKeys>& keys);
  void PublishList();
  // Returns the honest nodes that run rounds now.
  std::vector<SimNode*> RunningRounds();
  // Returns a round that is after all contributions.
  uint64_t RoundAfterAll();
  bool RoundsAgree();
  // Whether checkpoints were passed a while ago, and the next ones come a while later.
  bool BetweenCheckpoints() const;
  bool ItemsEqual() const;
  bool IsHonest(const privacy::NodeId& member) const;
  void JudgeRounds();
  // Returns how many honest vectors a round combines, if all of these nodes contribute.
  size_t HonestVectors(std::span<const size_t> learners) const;
  void JudgeParts(SimNode& node, const federation::GlobalState& state);
  void GiveOddItem(SimNode& node);
  void CountSumTwice(SimNode& node);
  void PlantDefect();
  void RunUntil(TimePoint end);
  void WatchHeal();
  bool HeadsEqual() const;
  // Whether every honest node knows everything that it should.
  bool Settled();
  void Settle();
  void Judge();
  WorldReport Report() const;

  WorldOptions options_;
  Random random_;
  Random masked_random_;  // so that other worlds are what they were before there were masked sums
  EventQueue queue_;
  SimNetwork network_;
  Audit audit_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<size_t> honest_;
  std::optional<size_t> sybils_at_;            // the node whose address all sybils have
  std::vector<size_t> dialable_;               // of these
  std::map<size_t, size_t> contributions_of_;  // offered, by node
  std::shared_ptr<const federation::LearnerPlan> plan_;
  std::unique_ptr<Learning> learning_;  // null where nodes do not learn
  size_t liars_ = 0;                    // in what nodes learn
  size_t accusers_ = 0;                 // false ones
  size_t masked_ = 0;                   // nodes that take part in masked sums
  size_t share_liars_ = 0;              // of these
  double masked_share_ = 0;             // of the nodes that learn
  bool picks_byzantine_ = false;        // the seed does
  std::optional<size_t> revoked_;       // the member that is, or will be
  privacy::RevocationList list_;        // empty until it is
  size_t newcomers_ = 0;
  std::unique_ptr<FaultInjector> faults_;
  std::set<Fault> picked_faults_;
  std::optional<TimePoint> heal_watched_;
  std::optional<Duration> settled_after_;
  size_t next_to_ask_ = 0;  // the node whose members are checked first
};

}  // namespace ruvd::test
