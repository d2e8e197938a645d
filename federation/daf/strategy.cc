// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/strategy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

double TotalVariation(const TimestepHistogram& a, const TimestepHistogram& b) {
  int sum = 0;
  for (size_t i = 0; i < kScheduleBins; ++i) {
    sum += std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
  }
  return sum / (2.0 * kScheduleUnit);
}

bool IsShare(double value) {
  return value >= 0 && std::isfinite(value);
}

using Cluster = std::vector<size_t>;

double MeanDistance(std::span<const TimestepHistogram> schedules, const Cluster& a,
                    const Cluster& b) {
  double sum = 0;
  for (const size_t i : a) {
    for (const size_t j : b) {
      sum += TotalVariation(schedules[i], schedules[j]);
    }
  }
  return sum / static_cast<double>(a.size() * b.size());
}

// Applies the rule to some of the updates.
void CombineSome(const AggregationRule& rule, const RuleInput& input, const Cluster& members,
                 std::span<float> out) {
  std::vector<std::span<const float>> updates;
  std::vector<std::span<const float>> past;
  std::vector<double> weights;
  std::vector<double> noise;
  std::vector<double> past_noise;
  std::optional<size_t> own;
  for (const size_t i : members) {
    if (input.own == i) {
      own = updates.size();
    }
    updates.push_back(input.updates[i]);
    weights.push_back(input.WeightOf(i));
    if (!input.past.empty()) {
      past.push_back(input.past[i]);
    }
    if (!input.noise.empty()) {
      noise.push_back(input.noise[i]);
    }
    if (!input.past_noise.empty()) {
      past_noise.push_back(input.past_noise[i]);
    }
  }
  rule.Combine({.updates = updates,
                .weights = weights,
                .own = own,
                .past = past,
                .noise = noise,
                .past_noise = past_noise},
               out);
}

void CombineClusters(const StrategyOptions& options, const AggregationRule& rule,
                     const RuleInput& input, std::span<const TimestepHistogram> schedules,
                     std::span<float> out) {
  const std::vector<size_t> cluster_of = ClusterSchedules(schedules, options.cluster_distance);
  std::vector<Cluster> clusters(*std::ranges::max_element(cluster_of) + 1);
  for (size_t i = 0; i < cluster_of.size(); ++i) {
    clusters[cluster_of[i]].push_back(i);
  }
  std::vector<std::vector<float>> results;
  for (const Cluster& cluster : clusters) {
    CombineSome(rule, input, cluster, results.emplace_back(out.size()));
  }
  std::vector<std::span<const float>> replaced;
  replaced.reserve(cluster_of.size());
  for (const size_t cluster : cluster_of) {
    replaced.emplace_back(results[cluster]);
  }
  rule.Combine({.updates = replaced, .weights = input.weights, .own = input.own}, out);
}

}  // namespace

std::optional<Strategy> StrategyByName(std::string_view name) {
  constexpr std::pair<std::string_view, Strategy> kNames[] = {
      {"timestep", Strategy::kTimestepAligned},
      {"quality", Strategy::kQualityWeighted},
      {"schedule", Strategy::kScheduleSimilarity},
      {"hybrid", Strategy::kHybrid}};
  const auto* const found =
      std::ranges::find(kNames, name, &std::pair<std::string_view, Strategy>::first);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->second);
}

absl::Status CheckStrategy(const StrategyOptions& options) {
  const double sum = options.timestep_weight + options.quality_weight + options.schedule_weight;
  if (!IsShare(options.timestep_weight) || !IsShare(options.quality_weight) ||
      !IsShare(options.schedule_weight) || !(sum > 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the weights of the hybrid strategy are {}, {} and {}; they must be at least 0, "
                 "and one above 0",
                 options.timestep_weight, options.quality_weight, options.schedule_weight);
  }
  const double a = options.staleness_exponent;
  if ((a != 0 && a != 0.5 && a != 1) || !IsShare(options.cluster_distance) ||
      options.cluster_distance > 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "staleness_exponent is {} and cluster_distance {}; give 0, 0.5 or 1, and a "
                 "distance from 0 to 1",
                 a, options.cluster_distance);
  }
  return absl::OkStatus();
}

std::vector<double> WeightsOf(const StrategyOptions& options, std::span<const UpdateView> views) {
  double best = 0;
  for (const UpdateView& view : views) {
    best = std::max(best, view.improvement);
  }
  std::vector<double> weights;
  for (const UpdateView& view : views) {
    const double quality = best > 0 ? std::max(0.0, view.improvement) / best : 0.0;
    double weight = 0;
    switch (options.strategy) {
      case Strategy::kTimestepAligned:
        weight = view.coverage;
        break;
      case Strategy::kQualityWeighted:
        weight = view.coverage * quality;
        break;
      case Strategy::kScheduleSimilarity:
        weight = view.coverage * view.similarity;
        break;
      case Strategy::kHybrid:
        weight =
            view.coverage == 0
                ? 0.0
                : (options.timestep_weight * view.coverage + options.quality_weight * quality +
                   options.schedule_weight * view.similarity) /
                      (options.timestep_weight + options.quality_weight + options.schedule_weight);
        break;
    }
    weights.push_back(weight * StalenessFactor(options.staleness_exponent, view.staleness));
  }
  return weights;
}

double StalenessFactor(double exponent, uint64_t staleness) {
  const double age = 1.0 + static_cast<double>(staleness);
  if (exponent == 0) {
    return 1;
  }
  return exponent == 1 ? 1 / age : 1 / std::sqrt(age);
}

MeanHistogram MeanSchedule(std::span<const TimestepHistogram> schedules,
                           std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  MeanHistogram mean{};
  for (size_t i = 0; i < schedules.size(); ++i) {
    const double share = sum > 0 ? weights[i] / sum : 1.0 / static_cast<double>(schedules.size());
    for (size_t bin = 0; bin < kScheduleBins; ++bin) {
      mean[bin] += share * schedules[i][bin] / kScheduleUnit;
    }
  }
  return mean;
}

double ScheduleSimilarity(const TimestepHistogram& a, const MeanHistogram& mean) {
  double sum = 0;
  for (size_t bin = 0; bin < kScheduleBins; ++bin) {
    sum += std::abs(static_cast<double>(a[bin]) / kScheduleUnit - mean[bin]);
  }
  return std::clamp(1 - sum / 2, 0.0, 1.0);
}

std::vector<size_t> ClusterSchedules(std::span<const TimestepHistogram> schedules,
                                     double distance) {
  std::vector<Cluster> clusters;
  clusters.reserve(schedules.size());
  for (size_t i = 0; i < schedules.size(); ++i) {
    clusters.push_back({i});
  }
  while (clusters.size() > 1) {
    size_t first = 0;
    size_t second = 0;
    double nearest = distance;
    for (size_t i = 0; i < clusters.size(); ++i) {
      for (size_t j = i + 1; j < clusters.size(); ++j) {
        const double apart = MeanDistance(schedules, clusters[i], clusters[j]);
        if (apart < nearest || (apart == nearest && second == 0)) {
          first = i;
          second = j;
          nearest = apart;
        }
      }
    }
    if (second == 0) {
      break;
    }
    clusters[first].insert(clusters[first].end(), clusters[second].begin(), clusters[second].end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(second));
  }
  std::vector<size_t> cluster_of(schedules.size());
  for (size_t cluster = 0; cluster < clusters.size(); ++cluster) {
    for (const size_t i : clusters[cluster]) {
      cluster_of[i] = cluster;
    }
  }
  return cluster_of;
}

void CombineByStrategy(const StrategyOptions& options, const AggregationRule& rule,
                       const RuleInput& input, std::span<const TimestepHistogram> schedules,
                       std::span<float> out) {
  if (options.strategy == Strategy::kScheduleSimilarity) {
    CombineClusters(options, rule, input, schedules, out);
  } else {
    rule.Combine(input, out);
  }
}

}  // namespace ruvd::federation
