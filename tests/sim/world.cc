// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "tests/federation/fixture.h"
#include "tests/sim/contributions.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Nodes find each other before anything happens to them.
constexpr Duration kWarmUp = seconds(10);
// The limit for the phase without faults: twice the longest backoff plus the period of
// anti-entropy.
constexpr Duration kSettleLimit = seconds(180);
// A settled cluster must stay settled.
constexpr Duration kQuiet = seconds(5);
// Quarters of a second in which a false accusation is refuted
constexpr int kRefutationWaits = 40;
// In larger worlds only some nodes are asked which members they see: checking all pairs would take
// longer than the run.
constexpr size_t kAskedNodes = 500;
// Payloads of two chunks are held by every node: 90 kB each.
constexpr size_t kMaxNodesWithLargeItems = 1000;
// Rounds with contributions after the last fault.
constexpr uint64_t kCalmRounds = 2;
// While votes are split, honest nodes take false states and train from them: then the adapter needs
// more rounds, each of which halves its error.
constexpr uint64_t kCalmRoundsAfterLies = 6;
// Half of the greatest difference of clocks that drift: 50 s is far below a round of real nodes,
// and half a round of a world that learns.
constexpr int64_t kClockSpreadMillis = 50'000;
constexpr int64_t kLearnersSpreadMillis = 2500;
// In a world with masked sums, the share of the other honest nodes whose contributions have noise.
constexpr double kNoisedShare = 0.5;
// Keys of masked sums have a second to arrive.
constexpr int64_t kMaskedSpreadMillis = 200;
constexpr size_t kLeastForNewcomers = 5;
// The share of the nodes that come late.
constexpr size_t kNewcomers = 10;

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      masked_random_(~options_.seed),
      network_(queue_, random_.Next()),
      audit_(queue_, network_, options_.nodes) {
  PickOptions();
  MakeNodes();
  faults_ = std::make_unique<FaultInjector>(
      FaultInjector::Target{.queue = &queue_,
                            .network = &network_,
                            .audit = &audit_,
                            .nodes = &nodes_,
                            .end_former_key = [this](size_t node) { EndFormerKey(node); }},
      picked_faults_, random_.Next());
}

World::~World() = default;

std::vector<std::string> World::ContactsOf(size_t node, const std::vector<size_t>& honest) {
  std::set<std::string> contacts;
  // A node that knows only liars cannot be helped, so each node knows an honest node that started
  // earlier.
  if (!honest.empty()) {
    contacts.insert(IdentityOf(honest[random_.Below(honest.size())]).config.listen_address);
  }
  for (size_t i = 1; i < options_.contacts; ++i) {
    const size_t other = random_.Below(options_.nodes);
    if (other != node) {
      contacts.insert(IdentityOf(other).config.listen_address);
    }
  }
  return {contacts.begin(), contacts.end()};
}

void World::MakeNodes() {
  const auto kinds = PickAdversaries();
  const bool drifts = picked_faults_.contains(Fault::kClockDrift);
  const auto record_pool = std::make_shared<federation::RecordPool>();
  for (size_t i = 0; i < options_.nodes; ++i) {
    NodeSetup setup{.number = i, .contacts = ContactsOf(i, dialable_), .seed = random_.Next()};
    setup.record_pool = record_pool;
    setup.plan = plan_;
    if (drifts) {
      const int64_t spread = *options_.masked ? kMaskedSpreadMillis
                             : learning_      ? kLearnersSpreadMillis
                                              : kClockSpreadMillis;
      setup.clock_offset_ms =
          static_cast<int64_t>(random_.Below(static_cast<uint64_t>(2 * spread + 1))) - spread;
      setup.clock_drift = 2e-4 * (2 * random_.Uniform() - 1);
    }
    // One sync covers everything, so a ledger forgets only if items are not synced either.
    setup.syncs_ledger = options_.defect != SeededDefect::kUnsyncedLedger;
    setup.syncs_items = setup.syncs_ledger && options_.defect != SeededDefect::kUnsyncedItems;
    setup.charges_first = options_.defect != SeededDefect::kLateCharge;
    setup.charges_shares = options_.defect != SeededDefect::kLateShareCharge;
    setup.says_input = options_.defect != SeededDefect::kOtherInput;
    setup.saves_last_round = options_.defect != SeededDefect::kRoundTwice;
    setup.forgets_withdrawn = options_.defect != SeededDefect::kWithdrawnReturns;
    setup.forgets_lessons = options_.defect != SeededDefect::kWithdrawnLesson;
    setup.takes_back = options_.defect != SeededDefect::kKeptContribution;
    setup.charges_once = options_.defect != SeededDefect::kChargedTwice;
    std::unique_ptr<Adversary> adversary = kinds[i] ? MakeAdversary(*kinds[i]) : nullptr;
    if (revoked_ == i) {
      adversary = std::make_unique<Adversary>();  // no node owes it anything once it is revoked
    }
    if (i < Learning::kNodes && (!kinds[i] || LiesAboutLearning(*kinds[i]))) {
      setup.learning = learning_.get();
      setup.attack = kinds[i] ? UpdateAttackOf(*kinds[i]) : std::nullopt;
      liars_ += setup.attack ? 1 : 0;
      if (PicksMasked(kinds[i], i)) {
        setup.tier = privacy::ConsentTier::kMasked;
      } else if (*options_.masked && !kinds[i] && masked_random_.Bernoulli(kNoisedShare)) {
        setup.tier = privacy::ConsentTier::kDp;
      }
    }
    accusers_ += kinds[i] == AdversaryKind::kAccuser ? 1 : 0;
    if (adversary) {
      audit_.SetByzantine(i);
      if (adversary->SpreadsTooMuch()) {
        audit_.SetSpreadsTooMuch(i);
      }
    } else {
      honest_.push_back(i);
    }
    const bool honest = adversary == nullptr;
    const bool sybil = kinds[i] == AdversaryKind::kSybil;
    nodes_.push_back(std::make_unique<SimNode>(std::move(setup), queue_, network_, audit_,
                                               std::move(adversary)));
    if (sybil) {  // one attacker has all of them on one machine
      network_.MoveBehind(i, sybils_at_.value_or(i));
      sybils_at_ = sybils_at_.value_or(i);
    }
    // If all nodes are hidden, none can meet; the first honest node is therefore not hidden.
    const bool may_hide = options_.undialable > 0 && !dialable_.empty();
    if (may_hide && random_.Bernoulli(options_.undialable)) {
      network_.Hide(i);
    } else if (honest) {
      dialable_.push_back(i);
    }
    if (!options_.established) {
      queue_.After(StartOf(i, honest), [node = nodes_.back().get()] { node->Start(); });
    }
  }
  if (options_.established) {
    Establish();
  }
}

Duration World::StartOf(size_t node, bool honest) {
  const size_t newcomers = std::max<size_t>(options_.nodes / kNewcomers, 1);
  if (honest && picked_faults_.contains(Fault::kNewcomer) && options_.nodes >= kLeastForNewcomers &&
      node + newcomers >= options_.nodes) {
    ++newcomers_;
    // Not at the end, when the faults end.
    return kWarmUp + Duration(static_cast<int64_t>((0.2 + 0.7 * random_.Uniform()) *
                                                   static_cast<double>(Lasts().count())));
  }
  return milliseconds(static_cast<int64_t>(random_.Below(3000)));
}

Duration World::Lasts() const {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::ratio<3600>>(options_.hours));
}

void World::Establish() {
  std::vector<federation::RecordPtr> records;
  for (const auto& node : nodes_) {
    node->Start();
    records.push_back(node->core().OwnRecord());
  }
  const auto base = std::make_shared<const federation::RecordBase>(std::move(records));
  for (const auto& node : nodes_) {
    node->Establish(base);
  }
}

void World::PlanItems(TimePoint begin, TimePoint end) {
  const auto span = static_cast<uint64_t>((end - begin).count());
  for (size_t i = 0; i < *options_.items; ++i) {
    queue_.At(begin + Duration(static_cast<int64_t>(random_.Below(span))),
              [this] { OfferItem(0); });
  }
}

void World::OfferItem(size_t attempt) {
  SimNode& node = *nodes_[honest_[random_.Below(honest_.size())]];
  absl::Status offered;
  // More contributions of one node would displace its older ones, by design.
  size_t& contributions = contributions_of_[node.number()];
  if (!learning_ && random_.Bernoulli(0.5) && contributions < limits::kMaxContributionsPerOrigin) {
    offered = node.OfferContribution(
        WorldContribution(*plan_, RoundAt(*plan_, node.now().wall_ms), random_.Next()));
    contributions += offered.ok() ? 1 : 0;
  } else {
    const bool large = options_.nodes <= kMaxNodesWithLargeItems && random_.Bernoulli(0.05);
    offered = node.OfferPattern(WorldPattern(random_.Next(), large));
  }
  if (!offered.ok() && attempt < 10) {  // it is down
    queue_.After(milliseconds(100), [this, attempt] { OfferItem(attempt + 1); });
  }
}

void World::PlanRounds(TimePoint begin, TimePoint end) {
  const auto round_at = [&](TimePoint time) {
    return RoundAt(*plan_, At(time.time_since_epoch()).wall_ms);
  };
  const bool lies = std::ranges::any_of(*options_.byzantine, [](const ByzantineShare& entry) {
    return entry.kind == AdversaryKind::kFalseState;
  });
  const uint64_t calm = lies ? kCalmRoundsAfterLies : kCalmRounds;
  // What nodes gave to rounds to which clocks leapt counts once these have come, and they give
  // nothing else to them.
  const auto leapt = picked_faults_.contains(Fault::kClockLeap)
                         ? static_cast<uint64_t>(kMaxLeapMillis / plan_->round_ms)
                         : 0;
  learning_->Open(round_at(begin) + 1, round_at(end) + calm + leapt);
}

void World::RunUntil(TimePoint end) {
  while (queue_.RunNext(end)) {
  }
}

bool World::HeadsEqual() const {
  const SimNode* first = nullptr;
  for (const size_t i : honest_) {
    const SimNode& node = *nodes_[i];
    if (!node.up() || node.paused()) {
      continue;
    }
    if (first != nullptr && node.heads() != first->heads()) {
      return false;
    }
    first = &node;
  }
  return true;
}

void World::WatchHeal() {
  const auto healed = faults_->healed_at();
  if (healed && healed != heal_watched_ && !faults_->cut() && HeadsEqual()) {
    heal_watched_ = healed;
    audit_.measures().heal.Add(std::chrono::duration<double>(queue_.now() - *healed).count());
  }
  queue_.After(milliseconds(250), [this] { WatchHeal(); });
}

bool World::ItemsEqual() const {
  if (HeadsEqual()) {
    return true;
  }
  // Items that expire do so at different times, as clocks differ.
  const std::set<Digest> first = audit_.WithoutExpiring(nodes_[honest_.front()]->held());
  return std::ranges::all_of(
      honest_, [&](size_t i) { return audit_.WithoutExpiring(nodes_[i]->held()) == first; });
}

bool World::Settled() {
  const size_t due = audit_.due();
  for (const size_t i : honest_) {
    if (!nodes_[i]->up() || nodes_[i]->held().size() < due) {
      return false;
    }
  }
  if (!ItemsEqual() || (learning_ && !RoundsAgree())) {
    return false;
  }
  // The node that had not settled the last time is asked first.
  const size_t asked = std::min(honest_.size(), kAskedNodes);
  for (size_t i = 0; i < asked; ++i) {
    const size_t place = (next_to_ask_ + i) % honest_.size();
    std::set<privacy::NodeId> alive;
    for (const federation::Member& member : nodes_[honest_[place]]->core().Members()) {
      if (member.state == federation::MemberState::kAlive) {
        alive.insert(member.id);
      }
    }
    for (const size_t other : honest_) {
      if (!alive.contains(IdentityOf(other).key.id())) {
        next_to_ask_ = place;
        return false;
      }
    }
  }
  return true;
}

void World::Settle() {
  faults_->EndAll();
  network_.conditions().loss = 0;
  network_.conditions().duplication = 0;
  const TimePoint begin = queue_.now();
  while (queue_.now() - begin < kSettleLimit) {
    RunUntil(queue_.now() + seconds(1));
    if (Settled()) {
      settled_after_ = queue_.now() - begin;
      RunUntil(queue_.now() + kQuiet);
      // The last false accusation may be waiting for its refutation.
      for (int i = 0; accusers_ > 0 && i < kRefutationWaits && !Settled(); ++i) {
        RunUntil(queue_.now() + milliseconds(250));
      }
      // Checkpoints are offered for ever. Through relays one may wait for anti-entropy.
      const TimePoint latest = queue_.now() + kSettleLimit;
      while (learning_ && !(BetweenCheckpoints() && ItemsEqual()) && queue_.now() < latest) {
        RunUntil(queue_.now() + milliseconds(500));
      }
      return;
    }
  }
}

void World::Judge() {
  std::set<Digest> all;
  for (const size_t i : honest_) {
    all.merge(audit_.WithoutExpiring(nodes_[i]->held()));
  }
  for (size_t place = 0; place < honest_.size(); ++place) {
    const size_t i = honest_[place];
    const SimNode& node = *nodes_[i];
    if (!node.up()) {
      audit_.Violate("node_down", "node " + std::to_string(i) + " did not start again");
      continue;
    }
    audit_.CheckItems(i, node.held(), all);
    if (place < kAskedNodes || place == next_to_ask_) {
      audit_.CheckMembers(i, node.core().Members(), honest_);
    }
    const std::vector<federation::Item> items = node.core().Items();
    if (items.size() != node.held().size()) {
      audit_.Violate("store_differs_from_core",
                     "node " + std::to_string(i) + " stores other items than its core has");
    }
    for (const privacy::NodeId& member : node.core().Graylisted()) {
      audit_.Graylisted(i, member);
    }
    if (items.size() > limits::kMaxItems || node.core().active_links() > limits::kMaxLinks ||
        node.core().relayed_links() > limits::kMaxRelayedLinks ||
        node.core().circuits() > limits::kMaxCircuits) {
      audit_.Violate("memory_bound", "node " + std::to_string(i) + " holds more than its limits");
    }
  }
  if (learning_) {
    JudgeRounds();
  }
  if (!settled_after_ && audit_.violations().empty()) {
    audit_.Violate("not_settled", "honest nodes were not of one mind at any whole second");
  }
}

WorldReport World::Run() {
  RunUntil(queue_.now() + kWarmUp);
  const TimePoint begin = queue_.now();
  const Duration lasts = Lasts();
  PlanItems(begin, begin + lasts);
  if (learning_) {
    PlanRounds(begin, begin + lasts);
  }
  PlanMembers(begin, begin + lasts);
  faults_->Begin(begin + lasts);
  WatchHeal();
  PlantDefect();
  RunUntil(begin + lasts);
  Settle();
  Judge();
  return Report();
}

void World::PlantDefect() {
  const size_t victim = honest_.front();
  const size_t other = honest_.back();
  switch (options_.defect) {
    case SeededDefect::kForgedItem: {
      auto payload = std::make_shared<const std::string>("never signed");
      audit_.Signed(other, Digest{1}, "signed");
      audit_.Accepted(victim,
                      {.id = Digest{1},
                       .origin = IdentityOf(other).key.id(),
                       .envelope = nullptr,
                       .payload = std::move(payload)},
                      /*own=*/false);
      return;
    }
    case SeededDefect::kForgedMember: {
      federation::Member member;
      member.id = IdentityOf(other).key.id();
      member.name = IdentityOf(other).config.certificate.name;
      member.address = "elsewhere:1";
      member.model_hash = IdentityOf(other).config.model_hash;
      audit_.MemberSeen(victim, member);
      return;
    }
    case SeededDefect::kHonestKeptOut:
      audit_.Graylisted(victim, IdentityOf(other).key.id());
      return;
    case SeededDefect::kDeafNode:
      network_.Deafen(victim);
      return;
    case SeededDefect::kSumTwice:
      queue_.After(Lasts(), [this, victim] { CountSumTwice(*nodes_[victim]); });
      return;
    case SeededDefect::kOddNode:
      queue_.After(Lasts(), [this, victim] { GiveOddItem(*nodes_[victim]); });
      return;
    default:
      return;
  }
}

WorldReport World::Report() const {
  WorldReport report;
  report.seed = options_.seed;
  report.loss = *options_.loss;
  for (const Fault fault : picked_faults_) {
    report.options.emplace_back(FaultName(fault));
  }
  for (const ByzantineShare& entry : *options_.byzantine) {
    report.options.emplace_back(AdversaryName(entry.kind));
  }
  report.honest = honest_.size();
  report.faults = faults_->counts();
  report.faults["withdrawal"] += audit_.measures().withdrawn;
  report.faults["withdrawn-lesson"] += audit_.measures().withdrawn_lessons;
  report.faults["revocation"] += static_cast<size_t>(
      std::ranges::count(list_.nodes, privacy::kEveryEpoch, &privacy::RevokedNode::least_epoch));
  report.faults["newcomer"] += newcomers_;
  for (const auto& node : nodes_) {
    report.faults["unsynced-write"] += node->lost().dropped;
    report.faults["death-in-share"] += node->deaths_in_shares();
    report.faults["death-in-contribution"] += node->deaths_in_contributions();
    report.faults["torn-write"] += node->lost().torn ? 1 : 0;
    if (node->byzantine()) {
      ++report.faults["byzantine-node"];
    }
  }
  report.network = network_.counters();
  report.faults["retransmission"] += report.network.retransmissions;
  report.faults["duplicated-frame"] += report.network.duplicated_frames;
  report.faults["held-frame"] += report.network.held_frames;
  report.faults["lost-link"] += report.network.lost_links;
  report.violations = audit_.violations();
  report.measures = audit_.measures();
  for (const size_t i : honest_) {
    report.measures.payload_bytes_received += nodes_[i]->payload_bytes_received();
  }
  report.measures.due_deliveries = audit_.DueDeliveries();
  report.simulated_s = std::chrono::duration<double>(queue_.now().time_since_epoch()).count();
  report.node_hours = report.simulated_s / 3600 * static_cast<double>(honest_.size());
  if (settled_after_) {
    report.settled_s = std::chrono::duration<double>(*settled_after_).count();
  }
  report.events = queue_.events();
  report.trace_hash = network_.trace_hash();
  return report;
}

}  // namespace ruvd::test
