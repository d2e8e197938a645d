// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What happens to members in a world, and how the rounds of its nodes are judged.

#include <algorithm>
#include <string>
#include <utility>

#include "base/status.h"
#include "federation/learner/contribution.h"
#include "privacy/limits.h"
#include "tests/federation/fixture.h"
#include "tests/sim/contributions.h"
#include "tests/sim/world.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kWithdrawalPeriod = seconds(4);
// The share of the withdrawals that withdraw a lesson and not a contribution
constexpr double kLessonShare = 0.5;
// Before the charge, between the charge and the noise, and before what has noise is offered.
constexpr size_t kStepsOfRelease = 3;
// The greatest distance of an adapter at the end from what honest nodes want; 1 is an adapter that
// learned nothing. Six rounds of half the way leave 0.02; nodes that were down move the mean, and
// what liars can do within the spread of honest contributions adds to it.
constexpr double kMaxAdapterError = 0.4;

}  // namespace

void World::PlanMembers(TimePoint begin, TimePoint end) {
  if (picked_faults_.contains(Fault::kWithdrawal)) {
    for (TimePoint at = begin; at < end; at += kWithdrawalPeriod) {
      const auto wait = random_.Below(static_cast<uint64_t>(kWithdrawalPeriod.count()));
      queue_.At(at + Duration(static_cast<int64_t>(wait)), [this] { WithdrawOne(); });
    }
  }
  PlanDeathsInReleases(begin, end);
  if (revoked_) {
    const double share = 0.2 + 0.4 * random_.Uniform();
    queue_.At(
        begin + Duration(static_cast<int64_t>(share * static_cast<double>((end - begin).count()))),
        [this] { Revoke(); });
  }
}

void World::PlanDeathsInReleases(TimePoint begin, TimePoint end) {
  const bool kill = picked_faults_.contains(Fault::kKill);
  const bool cut = picked_faults_.contains(Fault::kPowerCut);
  if (masked_ == 0 || !(kill || cut)) {
    return;
  }
  // Each of them may cost a group its sum, so there are rounds without one.
  for (TimePoint at = begin; at < end; at += 2 * milliseconds(plan_->round_ms)) {
    SimNode& node = *nodes_[honest_[masked_random_.Below(honest_.size())]];
    const bool by_cut = cut && (!kill || masked_random_.Bernoulli(0.5));
    const size_t steps = masked_random_.Below(kStepsOfRelease);
    if (node.noised()) {
      queue_.At(at, [&node, steps, by_cut] { node.DieInRelease(steps, by_cut); });
    }
  }
}

void World::WithdrawOne() {
  // A node that is down or has nothing to withdraw does nothing.
  SimNode& node = *nodes_[honest_[random_.Below(honest_.size())]];
  (random_.Bernoulli(kLessonShare) ? node.WithdrawLesson() : node.WithdrawContribution())
      .IgnoreError();
}

void World::Revoke() {
  SignList({IdentityOf(*revoked_).key.id()}, {});
  PublishList();
}

void World::EndFormerKey(size_t node) {
  audit_.KeyEnded(node);
  SignList({}, {{.id = IdentityOf(node).key.id(), .least_epoch = 1}});
  PublishList();
}

void World::SignList(const std::vector<privacy::NodeId>& nodes,
                     const std::vector<privacy::EndedKeys>& keys) {
  auto list = privacy::RevokeNodes(list_, nodes, At(queue_.now().time_since_epoch()).wall_ms,
                                   privacy::ClusterAuthority::FromSeed(SeedOf(1000)), keys);
  RUVD_CHECK(list.ok());
  list_ = *std::move(list);
}

void World::PublishList() {
  SimNode& node = *nodes_[honest_[random_.Below(honest_.size())]];
  if (!node.SetRevocations(list_).ok()) {  // it is down
    queue_.After(milliseconds(100), [this] { PublishList(); });
  }
}

std::vector<SimNode*> World::RunningRounds() {
  std::vector<SimNode*> running;
  for (const size_t i : honest_) {
    if (nodes_[i]->rounds() != nullptr) {
      running.push_back(nodes_[i].get());
    }
  }
  return running;
}

uint64_t World::RoundAfterAll() {
  uint64_t round = learning_->last_round();
  for (SimNode* node : RunningRounds()) {
    round = std::max(round, node->rounds()->now_round());
  }
  return round + 1;
}

bool World::RoundsAgree() {
  const uint64_t running = RoundAt(*plan_, At(queue_.now().time_since_epoch()).wall_ms);
  if (running <= learning_->last_round() + 1) {
    return false;  // contributions are on their way
  }
  const uint64_t round = RoundAfterAll();
  std::set<Digest> digests;
  for (SimNode* node : RunningRounds()) {
    digests.insert(node->rounds()->StateBefore(round).DigestOf(*plan_));
  }
  return digests.size() <= 1;
}

bool World::BetweenCheckpoints() const {
  const int64_t period = int64_t{plan_->window} * plan_->round_ms;
  const int64_t since = (At(queue_.now().time_since_epoch()).wall_ms - plan_->round_ms) % period;
  return since >= period / 2 && since <= period * 4 / 5;
}

bool World::IsHonest(const privacy::NodeId& member) const {
  return std::ranges::any_of(
      honest_, [&member](size_t node) { return IdentityOf(node).key.id() == member; });
}

// Equal items give equal states, close to what honest nodes want unless there are more liars than
// the rule is made for. Every state is that of the node's items.
void World::JudgeRounds() {
  const uint64_t round = RoundAfterAll();
  std::map<std::set<Digest>, Digest> digests;  // by the items that a node holds
  std::optional<federation::GlobalState> first;
  for (SimNode* node : RunningRounds()) {
    const federation::GlobalState state = node->rounds()->StateBefore(round);
    const Digest digest = state.DigestOf(*plan_);
    const auto known = digests.emplace(audit_.WithoutExpiring(node->held()), digest).first;
    if (known->second != digest) {
      audit_.Violate("adapters_differ",
                     audit_.Where(node->number()) + " made another adapter of the same items");
    }
    node->rounds_check()->CheckState(state, round, node->core().Items());
    JudgeParts(*node, state);
    audit_.measures().states_settled += node->rounds_check()->settled();
    audit_.measures().states_taken += node->rounds_check()->taken();
    first = first ? first : state;
  }
  audit_.measures().masked_sums += learning_->model().masked().found();
  for (const auto& [round_of_sum, member] : learning_->model().masked().summed()) {
    audit_.measures().masked_in_sums += IsHonest(member) ? 1 : 0;
  }
  if (!first) {
    return;
  }
  std::vector<size_t> learners;
  std::ranges::copy_if(honest_, std::back_inserter(learners),
                       [](size_t i) { return i < Learning::kNodes; });
  const double error = learning_->ErrorOf(first->values[0], learners);
  audit_.measures().adapter_error.Add(error);
  // Masks hide a very large input from every rule.
  if (error > kMaxAdapterError && share_liars_ == 0 &&
      Learning::Withstands(liars_, HonestVectors(learners))) {
    audit_.Violate("not_converged", "the adapter is " + std::to_string(error) +
                                        " of the way from what honest nodes want");
  }
}

// Rules count vectors, and of the nodes in a masked group only their sum arrives.
size_t World::HonestVectors(std::span<const size_t> learners) const {
  const auto masked = static_cast<size_t>(
      std::ranges::count_if(learners, [this](size_t i) { return nodes_[i]->masked(); }));
  return learners.size() - masked +
         (masked + limits::kMaxCliqueMembers - 1) / limits::kMaxCliqueMembers;
}

void World::JudgeParts(SimNode& node, const federation::GlobalState& state) {
  if (!revoked_ || !list_.Revokes(IdentityOf(*revoked_).key.id())) {
    return;
  }
  const privacy::NodeId revoked = IdentityOf(*revoked_).key.id();
  if (state.last_part.contains(revoked) ||
      node.rounds()->StateBefore(0).last_part.contains(revoked)) {
    audit_.Violate("revoked_has_part", audit_.Where(node.number()) + " has a state with node " +
                                           std::to_string(*revoked_) + ", which is revoked");
  }
}

void World::CountSumTwice(SimNode& node) {
  if (node.rounds() == nullptr || !node.rounds()->CountSumsAgain(learning_->last_round())) {
    queue_.After(milliseconds(500), [this, &node] { CountSumTwice(node); });
  }
}

void World::GiveOddItem(SimNode& node) {
  const uint64_t round = learning_->last_round();
  federation::Item item{.id = Digest{1},
                        .kind = federation::ItemKind::kContribution,
                        .origin = Digest{1},
                        .round = round,
                        .envelope = nullptr,
                        .payload = std::make_shared<const std::string>(
                            EncodeContribution(WorldContribution(*plan_, round, 1), *plan_))};
  node.rounds()->OnDefect({&item, 1});
}

}  // namespace ruvd::test
