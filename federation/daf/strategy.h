// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "federation/daf/aggregation_rule.h"
#include "federation/daf/timestep_histogram.h"

namespace ruvd::federation {

// How much an update counts in a bank.
enum class Strategy : uint8_t {
  kTimestepAligned,  // by the share of the bank's range of t that it covers
  kQualityWeighted,  // that share times the improvement measured there
  // clusters of similar t-histograms: the rule runs within them, then over them
  kScheduleSimilarity,
  kHybrid,  // a weighted mean of the three weights, without clusters
};

// Returns the strategy named "timestep", "quality", "schedule" or "hybrid"; nullopt for any other
// name.
std::optional<Strategy> StrategyByName(std::string_view name);

struct StrategyOptions {
  Strategy strategy = Strategy::kTimestepAligned;
  // kHybrid: the share of each weight; each at least 0, one of them above 0
  double timestep_weight = 1;
  double quality_weight = 1;
  double schedule_weight = 1;
  // An update that is s rounds old has the factor (1 + s)^-a (Xie, Koyejo and Gupta 2019,
  // "Asynchronous federated optimization", polynomial with exponent a). Only 0, 0.5 and 1 are
  // allowed: a root and a quotient have equal bits on every machine, other powers have not
  double staleness_exponent = 0.5;
  // Largest mean distance (total variation, 0 to 1) between the histograms of one cluster
  double cluster_distance = 0.25;
};

// Returns INVALID_ARGUMENT for an option out of range.
absl::Status CheckStrategy(const StrategyOptions& options);

// An update as seen in one bank.
struct UpdateView {
  double coverage = 0;
  // In rounds, as told by the peer: a peer that claims to be fresh counts 1, not more
  uint64_t staleness = 0;
  // Nats per token by which this update alone improves held-out text in this bank; measured by
  // judges, never claimed by its sender
  double improvement = 0;
  // Similarity of its schedule to the mean of the round. The peer tells its schedule, but its
  // weight is at most that of an update with exactly that mean
  double similarity = 1;
};

// Returns weights from 0 to 1 for the updates of one bank; all are 0 if no update counts, for
// example if none improves anything under kQualityWeighted. `options` must have been checked.
std::vector<double> WeightsOf(const StrategyOptions& options, std::span<const UpdateView> views);

// Returns (1 + staleness)^-exponent for an allowed exponent.
double StalenessFactor(double exponent, uint64_t staleness);

// Shares of all maskings by tenth of t, as a mean of histograms has them; they add up to 1.
using MeanHistogram = std::array<double, kScheduleBins>;
// Returns the weighted mean of histograms, summed in their order. `weights` are at least 0, one for
// each histogram; if all are 0, the mean is not weighted. There must be a histogram.
MeanHistogram MeanSchedule(std::span<const TimestepHistogram> schedules,
                           std::span<const double> weights);
// Returns 1 minus the total variation between a histogram and a mean: 0 to 1, and 1 for equal ones.
double ScheduleSimilarity(const TimestepHistogram& a, const MeanHistogram& mean);

// Returns the cluster of each histogram; clusters are numbered by their first member. The method is
// agglomerative clustering with average linkage, until no two clusters are within `distance`. The
// result depends only on the histograms and their order.
std::vector<size_t> ClusterSchedules(std::span<const TimestepHistogram> schedules, double distance);

// Combines one bank. Under kScheduleSimilarity the rule runs within every cluster and then over the
// clusters' results, each repeated as often as the cluster has members. So a lone update with an
// invented schedule is one of n, not one of the clusters. `schedules` belong to the updates in
// `input`.
void CombineByStrategy(const StrategyOptions& options, const AggregationRule& rule,
                       const RuleInput& input, std::span<const TimestepHistogram> schedules,
                       std::span<float> out);

}  // namespace ruvd::federation
