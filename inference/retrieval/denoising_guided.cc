// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/denoising_guided.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr std::array<std::pair<DgrStrategy, std::string_view>, 4> kNames = {{
    {DgrStrategy::kEntropy, "entropy"},
    {DgrStrategy::kConfidenceGap, "confidence_gap"},
    {DgrStrategy::kHybrid, "hybrid"},
    {DgrStrategy::kAdaptive, "adaptive"},
}};

absl::Status CheckRange(std::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "{} is {}; choose a value between {} and {}", name, value, low, high);
}

// Returns what the strategy decides, without regard to the limits.
bool Wants(const DgrOptions& options, const DgrHistory& history, const StepUncertainty& now,
           int step, float usual) {
  switch (options.strategy) {
    case DgrStrategy::kEntropy:
      return now.entropy > options.entropy_threshold;
    case DgrStrategy::kConfidenceGap:
      return now.margin < options.min_gap;
    case DgrStrategy::kHybrid:
      return usual > options.spike || step - std::max(0, history.last_step) >= options.interval;
    case DgrStrategy::kAdaptive:
      return usual > options.spike;
  }
  return false;
}

std::vector<float> Unit(std::vector<double> sum) {
  double squares = 0;
  for (const double value : sum) {
    squares += value * value;
  }
  std::vector<float> unit;
  if (squares > 0 && std::isfinite(squares)) {
    const double length = std::sqrt(squares);
    for (const double value : sum) {
      unit.push_back(static_cast<float>(value / length));
    }
  }
  return unit;
}

}  // namespace

std::string_view DgrStrategyName(DgrStrategy strategy) {
  return kNames[static_cast<size_t>(strategy)].second;
}

std::optional<DgrStrategy> DgrStrategyByName(std::string_view name) {
  for (const auto& [strategy, own] : kNames) {
    if (own == name) {
      return strategy;
    }
  }
  return std::nullopt;
}

absl::Status CheckDgrOptions(const DgrOptions& options) {
  constexpr double kMaxSteps = 1 << 14;
  constexpr double kMaxDeviations = 100;
  RETURN_IF_ERROR(CheckRange("entropy_threshold", options.entropy_threshold, 0, 1));
  RETURN_IF_ERROR(CheckRange("min_gap", options.min_gap, 0, 1));
  RETURN_IF_ERROR(CheckRange("interval", options.interval, 1, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("spike", options.spike, 0, kMaxDeviations));
  RETURN_IF_ERROR(CheckRange("max_retrievals", options.max_retrievals, 0, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("min_interval", options.min_interval, 1, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("min_t", options.min_t, 0, 1));
  return CheckRange("uncertain_share", options.uncertain_share, 0, 1);
}

UncertaintyKind KindOf(const StepUncertainty& step) {
  // A divergence of half a nat means that about half of the mass moved.
  constexpr float kSwings = 0.5F;
  // Few tokens share the mass if the entropy is a third of its maximum.
  constexpr float kFew = 0.35F;
  if (step.movement > kSwings) {
    return UncertaintyKind::kUnstable;
  }
  return step.entropy < kFew ? UncertaintyKind::kContested : UncertaintyKind::kDiffuse;
}

DgrDecision DecideRetrieval(const DgrOptions& options, const DgrHistory& history,
                            const StepUncertainty& now, int step, float usual) {
  const bool allowed = now.positions > 0 && now.t >= options.min_t &&
                       history.retrievals < options.max_retrievals &&
                       (history.last_step < 0 || step - history.last_step >= options.min_interval);
  if (!allowed || !Wants(options, history, now, step, usual)) {
    return {};
  }
  return {.query = true, .kind = KindOf(now)};
}

std::vector<float> AugmentedQuery(std::span<const float> prompt, std::span<const float> hidden,
                                  std::span<const PositionUncertainty> positions,
                                  const Whitening* whitening, float uncertain_share) {
  const size_t width = prompt.size();
  RUVD_CHECK(hidden.size() == positions.size() * width);
  std::vector<double> sum(width);
  for (size_t i = 0; i < positions.size(); ++i) {
    const double weight = std::max(0.0F, positions[i].entropy);
    for (size_t j = 0; j < width; ++j) {
      sum[j] += weight * hidden[i * width + j];
    }
  }
  std::vector<float> uncertain = Unit(std::move(sum));
  if (!uncertain.empty() && whitening != nullptr) {
    uncertain = whitening->Apply(uncertain);
  }
  std::vector<double> query(width);
  for (size_t j = 0; j < width; ++j) {
    query[j] = (1 - static_cast<double>(uncertain_share)) * prompt[j] +
               (uncertain.empty() ? 0 : static_cast<double>(uncertain_share) * uncertain[j]);
  }
  std::vector<float> unit = Unit(std::move(query));
  return unit.empty() ? std::vector<float>(prompt.begin(), prompt.end()) : unit;
}

std::vector<RetrievedPattern> FilterByKind(std::vector<RetrievedPattern> hits, UncertaintyKind kind,
                                           std::span<const RetrievedPattern> in_use) {
  const auto used = [in_use](const RetrievedPattern& hit) {
    return std::any_of(in_use.begin(), in_use.end(), [&hit](const RetrievedPattern& other) {
      return other.pattern_id == hit.pattern_id;
    });
  };
  if (std::all_of(hits.begin(), hits.end(), used)) {
    return {};
  }
  if (kind == UncertaintyKind::kUnstable || kind == UncertaintyKind::kContested) {
    std::erase_if(hits, used);
  }
  if (kind == UncertaintyKind::kContested) {
    float best = std::numeric_limits<float>::lowest();
    for (const RetrievedPattern& other : in_use) {
      best = std::max(best, other.similarity);
    }
    std::erase_if(hits, [best](const RetrievedPattern& hit) { return !(hit.similarity > best); });
  }
  return hits;
}

}  // namespace ruvd::inference
