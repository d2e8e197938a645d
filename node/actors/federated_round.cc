// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/federated_round.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "inference/adapter/bank.h"
#include "node/actors/shared_items.h"

namespace ruvd {
namespace {

// A trimmed mean of fewer is a mean of clipped updates.
constexpr size_t kLeastToOutvote = 3;

AdapterUpdateRules RulesOf(const Frame& frame, const Digest& model_hash) {
  const auto rank = static_cast<uint32_t>(frame.rank);
  return {.model_hash = model_hash,
          .frame_id = frame.id,
          .modules = {{.target = frame.target, .rows = rank, .columns = rank}},
          .max_norm = UpdateRules().max_norm};
}

// The core that every node trains: over all t, filed under the bank of t = 1.
absl::StatusOr<AdapterUpdate> UpdateOf(const Item& item, const Frame& frame,
                                       const AdapterUpdateRules& rules) {
  ASSIGN_OR_RETURN(AdapterDelta delta, DecodeAdapterDelta(AsBytes(*item.payload)));
  const auto core = std::ranges::find_if(delta.cores, [&frame](const CoreDelta& candidate) {
    return candidate.target == frame.target && candidate.bank == static_cast<uint32_t>(BankOf(1));
  });
  if (core == delta.cores.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "update has no core that is served; its sender must use this version");
  }
  return AdapterUpdate{.model_hash = rules.model_hash,
                       .frame_id = rules.frame_id,
                       .modules = rules.modules,
                       .banks = {{.bank = 0, .values = std::move(core->values)}}};
}

void KeepNewest(std::vector<Item>* items, const NodeId& self) {
  if (items->size() <= limits::kMaxContributions) {
    return;
  }
  std::ranges::sort(*items, [&self](const Item& a, const Item& b) {
    return std::tuple(a.origin != self, -a.created_ms, a.origin) <
           std::tuple(b.origin != self, -b.created_ms, b.origin);
  });
  items->resize(limits::kMaxContributions);
}

}  // namespace

absl::StatusOr<FederatedRound> CombineNewest(std::vector<Item> newest, const Frame& frame,
                                             const Digest& model_hash, const NodeId& self) {
  KeepNewest(&newest, self);
  const AdapterUpdateRules rules = RulesOf(frame, model_hash);
  std::vector<std::pair<NodeId, AdapterUpdate>> updates;
  FederatedRound round;
  for (const Item& item : newest) {
    absl::StatusOr<AdapterUpdate> update = UpdateOf(item, frame, rules);
    if (update.ok()) {
      updates.emplace_back(item.origin, *std::move(update));
    } else {
      round.peers.push_back({.origin = item.origin, .refused = update.status(), .banks = {}});
    }
  }
  const BankedValues zeros = {std::vector<float>(rules.modules[0].values())};
  DafRoundInput input{.self = self, .current = &zeros};
  for (const auto& [origin, update] : updates) {
    input.updates.push_back({.origin = origin, .update = &update});
  }
  const TrimmedMean clipped;
  const AggregationRule* const rule = updates.size() < kLeastToOutvote ? &clipped : nullptr;
  ASSIGN_OR_RETURN(DafRoundResult result,
                   AggregateRound(input, {.rules = rules, .rule = rule}, nullptr, nullptr));
  round.contributors = result.contributors[0];
  std::ranges::move(result.peers, std::back_inserter(round.peers));
  std::ranges::sort(round.peers, {}, &PeerRecord::origin);
  if (round.contributors > 0) {
    round.delta = DeltaOfCore(frame, std::move(result.delta[0]));
  }
  return round;
}

}  // namespace ruvd
