// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/combined_update.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "node/limits.h"

namespace ruvd::sharing {
namespace {

// With fewer updates, a trimmed mean is only a mean of clipped updates.
constexpr size_t kLeastToOutvote = 3;

void KeepNewest(std::vector<federation::Item>* items, const privacy::NodeId& self, size_t most) {
  if (items->size() <= most) {
    return;
  }
  std::ranges::sort(*items, [&self](const federation::Item& a, const federation::Item& b) {
    return std::tuple(a.origin != self, -a.created_ms, a.origin) <
           std::tuple(b.origin != self, -b.created_ms, b.origin);
  });
  items->resize(most);
}

// Removes the single updates of members of a masked sum and records that in `left_out`.
void LeaveOutMembers(const MaskedMeanList& sums, const federation::AdapterUpdateRules& rules,
                     std::vector<federation::Item>* items,
                     std::vector<federation::PeerRecord>* left_out) {
  MaskedMeanList counted;  // a refused sum counts for none of its members
  std::ranges::copy_if(sums, std::back_inserter(counted), [&rules](const auto& mean) {
    return CheckAdapterUpdate(mean->update, rules).ok();
  });
  std::erase_if(*items, [&](const federation::Item& item) {
    const auto sum = std::ranges::find_if(counted, [&item](const auto& mean) {
      return std::ranges::binary_search(mean->members, item.origin);
    });
    if (sum != counted.end()) {
      left_out->push_back(
          {.origin = item.origin,
           .refused =
               Error(absl::StatusCode::kAlreadyExists, reasons::kInMaskedSum,
                     "the masked sum of round {} contains this update already", (*sum)->round),
           .banks = {}});
    }
    return sum != counted.end();
  });
}

// Returns the strategy to use; without measurements the quality of updates is unknown.
federation::StrategyOptions StrategyOf(const CombineOptions& options) {
  federation::StrategyOptions strategy = options.strategy;
  if (options.measure) {
    return strategy;
  }
  if (strategy.strategy == federation::Strategy::kQualityWeighted) {
    strategy.strategy = federation::Strategy::kTimestepAligned;
  } else if (strategy.strategy == federation::Strategy::kHybrid) {
    strategy.quality_weight = 0;
    if (strategy.timestep_weight + strategy.schedule_weight == 0) {
      strategy.timestep_weight = 1;
    }
  }
  return strategy;
}

}  // namespace

absl::StatusOr<CombinedUpdate> CombineNewest(std::vector<federation::Item> newest,
                                             const CombineOptions& options) {
  RUVD_CHECK(options.sums.size() <= limits::kMaxMaskedMeans);
  CombinedUpdate round;
  const federation::AdapterUpdateRules rules = RulesOf(options.layout);
  LeaveOutMembers(options.sums, rules, &newest, &round.peers);
  KeepNewest(&newest, options.self, limits::kMaxContributions - options.sums.size());
  std::vector<std::pair<privacy::NodeId, federation::AdapterUpdate>> updates;
  for (const federation::Item& item : newest) {
    absl::StatusOr<federation::AdapterUpdate> update =
        federation::DecodeAdapterUpdate(AsBytes(*item.payload));
    if (update.ok()) {
      updates.emplace_back(item.origin, *std::move(update));
    } else {
      round.peers.push_back({.origin = item.origin, .refused = update.status(), .banks = {}});
    }
  }
  const federation::BankedValues frozen(options.layout.banks(),
                                        std::vector<float>(options.layout.values_per_bank()));
  federation::DafRoundInput input{.self = options.self,
                                  .round = options.round,
                                  .from_frozen = true,
                                  .boundaries = options.layout.boundaries,
                                  .schedule = EvenSchedule(),
                                  .current = &frozen,
                                  .updates = {}};
  for (const auto& [origin, update] : updates) {
    input.updates.push_back({.origin = origin, .update = &update});
  }
  for (const auto& sum : options.sums) {
    input.updates.push_back(
        {.origin = sum->name, .update = &sum->update, .members = sum->members.size()});
  }
  const federation::TrimmedMean clipped;
  const federation::AggregationRule* const rule =
      input.updates.size() < kLeastToOutvote ? &clipped : nullptr;
  const federation::DafRoundOptions daf{
      .rules = rules, .strategy = StrategyOf(options), .rule = rule, .gate = options.gate};
  ASSIGN_OR_RETURN(federation::DafRoundResult result,
                   AggregateRound(input, daf, options.measure, options.reputation));
  round.target = std::move(result.delta);
  round.contributors = std::move(result.contributors);
  std::ranges::move(result.peers, std::back_inserter(round.peers));
  std::ranges::sort(round.peers, {}, &federation::PeerRecord::origin);
  return round;
}

}  // namespace ruvd::sharing
