// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/aggregation_rule.h"

namespace ruvd::federation {

// How much an update counts in a bank.
enum class Strategy : uint8_t {
  kTimestepAligned,     // by how much of the bank's range of t it covers
  kQualityWeighted,     // that, times what it improves there as this node measured
  kScheduleSimilarity,  // clusters of like t-histograms: the rule within them, then over them
  kHybrid,              // a weighted mean of the three weights, without clusters
};

// "timestep", "quality", "schedule", "hybrid"; nullopt for any other.
std::optional<Strategy> StrategyByName(std::string_view name);

struct StrategyOptions {
  Strategy strategy = Strategy::kTimestepAligned;
  // kHybrid: what share each weight has; at least 0, one above 0.
  double timestep_weight = 1;
  double quality_weight = 1;
  double schedule_weight = 1;
  // An update of s rounds ago counts (1 + s)^-a (Xie, Koyejo and Gupta 2019, "Asynchronous
  // federated optimization", the polynomial a).
  double staleness_exponent = 0.5;
  // Largest mean distance (total variation, 0 to 1) between histograms of one cluster.
  double cluster_distance = 0.25;
};

// INVALID_ARGUMENT for an option out of its range.
absl::Status CheckStrategy(const StrategyOptions& options);

// One update in one bank.
struct UpdateView {
  double coverage = 0;
  // Rounds. Told by the peer: who claims to be fresh counts 1 and not more.
  uint64_t staleness = 0;
  // Nats per token that it alone takes off this node's held-out text in this bank. Never a claim.
  double improvement = 0;
  // Of its schedule with this node's. Told by the peer, so it only orders: its weight is at most
  // that of an update that is just like ours.
  double similarity = 1;
};

// Weights 0 to 1 of the updates of one bank; all 0 where none counts, as where none improves
// anything under kQualityWeighted. `options` are checked.
std::vector<double> WeightsOf(const StrategyOptions& options, std::span<const UpdateView> views);

// 1 less the total variation between two histograms: 0 to 1, 1 for equal ones.
double ScheduleSimilarity(const TimestepHistogram& a, const TimestepHistogram& b);

// Cluster of each histogram, numbered by their first member: agglomerative, average linkage, until
// no two clusters are as near as `distance`. Depends on the histograms and their order alone.
std::vector<size_t> ClusterSchedules(std::span<const TimestepHistogram> schedules, double distance);

// Combines one bank. Under kScheduleSimilarity the rule runs within every cluster, then over the
// clusters' results, each as often as it has members: so a lone update with a schedule of its own
// making is one of n, not one of the clusters. `schedules` are those of the updates in `input`.
void CombineByStrategy(const StrategyOptions& options, const AggregationRule& rule,
                       const RuleInput& input, std::span<const TimestepHistogram> schedules,
                       std::span<float> out);

}  // namespace ruvd::federation
