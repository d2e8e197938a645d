// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/learning.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/daf/daf_round.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
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

// One update of each origin, by origin; if an origin has several in a round, the newest.
using RoundUpdates = std::map<privacy::NodeId, std::pair<Digest, federation::AdapterUpdate>>;

// Returns the updates that belong to the learning; updates of other attackers have two banks
// (WorldUpdate).
std::map<uint64_t, RoundUpdates> UpdatesByRound(std::span<const federation::Item> held) {
  std::map<uint64_t, RoundUpdates> rounds;
  for (const federation::Item& item : held) {
    if (item.kind != federation::ItemKind::kAdapterDelta || item.round < 1 ||
        item.round > Learning::kRounds) {
      continue;
    }
    auto update = federation::DecodeAdapterUpdate(AsBytes(*item.payload));
    if (!update.ok() || !update->boundaries.empty()) {
      continue;
    }
    update->round = item.round - 1;
    auto& kept = rounds[item.round][item.origin];
    if (kept.first < item.id) {
      kept = {item.id, *std::move(update)};
    }
  }
  return rounds;
}

}  // namespace

Learning::Learning(size_t nodes, uint64_t seed, const federation::AggregationRule* rule)
    : random_(seed), rule_(rule) {
  for (size_t i = 0; i < kValues; ++i) {
    shared_.push_back(static_cast<float>(random_.Normal() / std::sqrt(double{kValues})));
  }
  for (size_t i = 0; i < nodes; ++i) {
    own_.push_back(random_.Next());
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
  const std::vector<float>& adapter = AdapterToTrain(held);
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

const std::vector<float>& Learning::AdapterToTrain(std::span<const federation::Item> held) {
  std::vector<Digest> updates;
  for (const federation::Item& item : held) {
    if (item.kind == federation::ItemKind::kAdapterDelta) {
      updates.push_back(item.id);
    }
  }
  const auto [found, is_new] = adapters_to_train_.try_emplace(std::move(updates));
  if (is_new) {
    found->second = AdapterOf(held);
  }
  return found->second;
}

std::vector<float> Learning::AdapterOf(std::span<const federation::Item> held) const {
  auto global = federation::GlobalAdapter::Create(1, kValues, federation::OuterOptions());
  RUVD_CHECK(global.ok());
  for (const auto& [round, updates] : UpdatesByRound(held)) {
    // Without the node's own update the rule gives an equal result to every node.
    federation::DafRoundInput input{.round = round - 1, .current = &global->values()};
    for (const auto& [origin, update] : updates) {
      if (input.updates.size() < limits::kMaxContributions) {
        input.updates.push_back({.origin = origin, .update = &update.second});
      }
    }
    const auto result =
        federation::AggregateRound(input, {.rules = Rules(), .rule = rule_}, nullptr, nullptr);
    RUVD_CHECK(result.ok());
    RUVD_CHECK(global->Apply(result->delta, {}, nullptr, {}, result->contributors).ok());
  }
  return global->values()[0];
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
