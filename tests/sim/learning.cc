// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/learning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/robust_rules.h"
#include "federation/learner/rounds.h"
#include "tests/federation/fixture.h"
#include "tests/sim/identities.h"

namespace ruvd::test {
namespace {

constexpr char kLearnedTarget[] = "blk.1.ffn_down.weight";
constexpr uint32_t kLearnedRank = 8;
static_assert(kLearnedRank * kLearnedRank == Learning::kValues);
constexpr double kOwnPart = 0.3;  // weight of h_i beside w
constexpr double kTrainedShare = 0.5;
constexpr double kTrainingNoise = 0.02;

double NormOf(std::span<const float> values) {
  double square = 0;
  for (const float value : values) {
    square += double{value} * value;
  }
  return std::sqrt(square);
}

federation::AdapterUpdateRules Rules() {
  return federation::BankedRules(Learning::Layout(), IdentityOf(0).config.model_hash,
                                 IdentityOf(0).config.frame_id);
}

// Returns the update of a round, with one bank for all t.
federation::AdapterUpdate UpdateOfValues(uint64_t round, std::vector<float> values) {
  const federation::AdapterUpdateRules rules = Rules();
  // No node accepts a longer update.
  const double longest = 0.999 * rules.max_norm;
  if (const double norm = NormOf(values); norm > longest) {
    for (float& value : values) {
      value = static_cast<float>(value * longest / norm);
    }
  }
  return {.model_hash = rules.model_hash,
          .frame_id = rules.frame_id,
          .round = round - 1,
          .boundaries = {},
          .modules = rules.modules,
          .banks = {{.bank = 0, .values = std::move(values)}}};
}

// The plan of a world: one bank for all t, and a window of all rounds.
federation::LearnerPlan PlanOf(std::string rule) {
  federation::LearnerPlan plan;
  plan.frame_id = IdentityOf(0).config.frame_id;
  plan.rank = kLearnedRank;
  plan.values_per_bank = Learning::kValues;
  plan.window = Learning::kRounds;
  plan.rule = std::move(rule);
  plan.max_norm = Learning::Layout().max_norm;
  RUVD_CHECK(plan.Check().ok());
  return plan;
}

// Returns an item as a contribution to its round, if it is one that belongs to the learning:
// updates of other attackers have two banks (WorldUpdate). Its envelope says the round.
std::optional<federation::RoundContribution> ContributionOf(const federation::Item& item,
                                                            const federation::LearnerPlan& plan) {
  if (item.kind != federation::ItemKind::kAdapterDelta || item.round < 1 ||
      item.round > Learning::kRounds) {
    return std::nullopt;
  }
  auto update = federation::DecodeAdapterUpdate(AsBytes(*item.payload));
  if (!update.ok() || !update->boundaries.empty()) {
    return std::nullopt;
  }
  return federation::RoundContribution{
      .id = item.id,
      .origin = item.origin,
      .members = {},
      .contribution = {.plan = plan.Id(),
                       .round = item.round,
                       .base_round = item.round - 1,
                       .schedule = plan.schedule,
                       .banks = {0},
                       .floats = std::move(update->banks[0].values),
                       .units = {}}};
}

std::vector<federation::RoundContribution> ContributionsIn(std::span<const federation::Item> held,
                                                           const federation::LearnerPlan& plan) {
  std::vector<federation::RoundContribution> contributions;
  for (const federation::Item& item : held) {
    if (auto one = ContributionOf(item, plan)) {
      contributions.push_back(*std::move(one));
    }
  }
  return contributions;
}

}  // namespace

Learning::Learning(size_t nodes, uint64_t seed, std::string rule)
    : random_(seed), plan_(PlanOf(std::move(rule))) {
  for (size_t i = 0; i < kValues; ++i) {
    shared_.push_back(static_cast<float>(random_.Normal() / std::sqrt(double{kValues})));
  }
  for (size_t i = 0; i < nodes; ++i) {
    own_.push_back(random_.Next());
  }
  for (size_t node = 0; node < std::min(nodes, kHistories); ++node) {
    auto history = federation::RoundHistory::Create(plan_, federation::EmptyState(plan_, 1));
    RUVD_CHECK(history.ok());
    histories_.emplace(node, Kept{.history = *std::move(history), .rounds = {}});
  }
}

federation::UpdateRules Learning::Layout() {
  return {.rank_of_target = {{kLearnedTarget, kLearnedRank}}, .max_norm = Updates().max_norm};
}

std::vector<float> Learning::Wanted(size_t node) const {
  Random own(own_[node]);
  std::vector<float> wanted = shared_;
  for (float& value : wanted) {
    value += static_cast<float>(kOwnPart * own.Normal() / std::sqrt(double{kValues}));
  }
  return wanted;
}

federation::AdapterUpdate Learning::Train(size_t node, uint64_t round,
                                          std::span<const federation::Item> held) {
  const std::vector<float>& adapter = AdapterToTrain(node, round, held);
  std::vector<float> update = Wanted(node);
  for (size_t i = 0; i < kValues; ++i) {
    const double noise = kTrainingNoise * random_.Normal() / std::sqrt(double{kValues});
    update[i] = static_cast<float>(kTrainedShare * (update[i] - adapter[i]) + noise);
  }
  honest_[round].push_back(update);
  return UpdateOfValues(round, std::move(update));
}

federation::AdapterUpdate Learning::Lie(bench::UpdateAttack attack, uint64_t round) {
  std::vector<float>& lie = lies_[{round, attack}];
  const auto honest = honest_.find(round);
  if (lie.empty() && honest != honest_.end()) {
    lie = bench::Attack(attack, honest->second, 1, random_).front();
  }
  return UpdateOfValues(round, lie.empty() ? std::vector<float>(kValues) : lie);
}

const std::vector<float>& Learning::AdapterToTrain(size_t node, uint64_t round,
                                                   std::span<const federation::Item> held) {
  if (auto state = HistoryOf(node, round, held)) {
    adapter_of_history_ = std::move(state->values[0]);
    return adapter_of_history_;
  }
  std::vector<Digest> updates;
  for (const federation::Item& item : held) {
    if (item.kind == federation::ItemKind::kAdapterDelta) {
      updates.push_back(item.id);
    }
  }
  const auto [found, is_new] = adapters_to_train_.try_emplace({round, std::move(updates)});
  if (is_new) {
    found->second = StateOf(held, round).values[0];
  }
  return found->second;
}

federation::GlobalState Learning::StateOf(std::span<const federation::Item> held,
                                          uint64_t round) const {
  const std::vector<federation::RoundContribution> contributions = ContributionsIn(held, plan_);
  federation::RoundSet set;
  for (const federation::RoundContribution& one : contributions) {
    set.contributions.push_back(&one);
  }
  auto state = federation::ApplyRounds(plan_, federation::EmptyState(plan_, 1), set, round - 1);
  RUVD_CHECK(state.ok());
  return *std::move(state);
}

std::optional<federation::GlobalState> Learning::HistoryOf(size_t node, uint64_t round,
                                                           std::span<const federation::Item> held) {
  const auto found = histories_.find(node);
  if (found == histories_.end()) {
    return std::nullopt;
  }
  Kept& kept = found->second;
  std::map<Digest, uint64_t> rounds;
  for (federation::RoundContribution& one : ContributionsIn(held, plan_)) {
    rounds.emplace(one.id, one.contribution.round);
    RUVD_CHECK(kept.history.Add(std::move(one)).ok());
  }
  // A power cut takes items that were not synced.
  for (const auto& [id, of_round] : kept.rounds) {
    if (!rounds.contains(id)) {
      RUVD_CHECK(kept.history.Remove(id, of_round).ok());
    }
  }
  kept.rounds = std::move(rounds);
  return kept.history.StateBefore(round);
}

double Learning::ErrorOf(std::span<const float> adapter, std::span<const size_t> nodes) const {
  std::vector<double> mean(kValues);
  for (const size_t node : nodes) {
    const std::vector<float> wanted = Wanted(node);
    for (size_t i = 0; i < kValues; ++i) {
      mean[i] += double{wanted[i]} / static_cast<double>(nodes.size());
    }
  }
  double distance = 0;
  double norm = 0;
  for (size_t i = 0; i < kValues; ++i) {
    distance += (adapter[i] - mean[i]) * (adapter[i] - mean[i]);
    norm += mean[i] * mean[i];
  }
  return std::sqrt(distance / norm);
}

bool Learning::Withstands(size_t liars, size_t honest) {
  const size_t present = honest * 7 / 10;
  return present + liars >= 5 &&
         liars <= federation::ToleratedFaults(present + liars, federation::kFaultyShare);
}

}  // namespace ruvd::test
