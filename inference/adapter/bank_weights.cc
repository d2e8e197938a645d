// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/bank_weights.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr std::array<std::string_view, 4> kStrategyNames = {"discrete", "linear", "attention",
                                                            "soft-boundary"};

// Returns the middle of a bank's range.
double Middle(const BankSchedule& schedule, size_t bank) {
  const double low = bank == 0 ? 0.0 : static_cast<double>(schedule.boundaries[bank - 1]);
  const double high =
      bank + 1 == schedule.banks() ? 1.0 : static_cast<double>(schedule.boundaries[bank]);
  return (low + high) / 2;
}

void Linear(const BankSchedule& schedule, double t, BankWeights* weights) {
  size_t above = 0;
  while (above < schedule.banks() && Middle(schedule, above) <= t) {
    ++above;
  }
  if (above == 0 || above == schedule.banks()) {
    (*weights)[above == 0 ? 0 : above - 1] = 1;
    return;
  }
  const double low = Middle(schedule, above - 1);
  const double share = (t - low) / (Middle(schedule, above) - low);
  (*weights)[above] = static_cast<float>(share);
  (*weights)[above - 1] = static_cast<float>(1 - share);
}

// Each boundary is a soft step. The weight of bank k is the step at boundary k-1 minus the step at
// boundary k.
void SoftBoundary(const BankSchedule& schedule, double t, BankWeights* weights) {
  double below = 1;
  for (size_t bank = 0; bank < schedule.banks(); ++bank) {
    double above = 0;
    if (bank < schedule.boundaries.size()) {
      const double distance = t - static_cast<double>(schedule.boundaries[bank]);
      above = 1 / (1 + std::exp(-distance / static_cast<double>(schedule.temperature)));
    }
    (*weights)[bank] = static_cast<float>(below - above);
    below = above;
  }
}

}  // namespace

std::string_view BankStrategyName(BankStrategy strategy) {
  return kStrategyNames.at(static_cast<size_t>(strategy));
}

std::optional<BankStrategy> BankStrategyByName(std::string_view name) {
  const auto* found = std::find(kStrategyNames.begin(), kStrategyNames.end(), name);
  return found == kStrategyNames.end()
             ? std::nullopt
             : std::optional(static_cast<BankStrategy>(found - kStrategyNames.begin()));
}

absl::Status CheckSchedule(const BankSchedule& schedule) {
  float before = 0;
  bool ascending = schedule.banks() <= limits::kMaxTimestepBanks;
  for (const float boundary : schedule.boundaries) {
    ascending = ascending && boundary > before && boundary < 1;  // false for NaN
    before = boundary;
  }
  if (!ascending) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                 "the boundaries of timestep banks must ascend between 0 and 1 and be fewer than "
                 "{}; give for example 0.3, 0.6",
                 limits::kMaxTimestepBanks);
  }
  if (!(schedule.temperature >= limits::kMinBankTemperature && schedule.temperature <= 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                 "the temperature of timestep banks must be {} to 1, it is {}",
                 limits::kMinBankTemperature, schedule.temperature);
  }
  return absl::OkStatus();
}

size_t BankIndex(const BankSchedule& schedule, float t) {
  return static_cast<size_t>(
      std::upper_bound(schedule.boundaries.begin(), schedule.boundaries.end(), t) -
      schedule.boundaries.begin());
}

BankWeights WeightsAt(const BankSchedule& schedule, const BankRouter* router, float t,
                      std::span<const float> query) {
  BankWeights weights{};
  const double inside = std::clamp(static_cast<double>(t), 0.0, 1.0);
  switch (schedule.strategy) {
    case BankStrategy::kDiscrete:
      weights[BankIndex(schedule, t)] = 1;
      break;
    case BankStrategy::kLinear:
      Linear(schedule, inside, &weights);
      break;
    case BankStrategy::kAttention:
      RUVD_CHECK(router != nullptr && router->banks() == schedule.banks());
      router->Route(inside, query, std::span(weights).first(schedule.banks()));
      break;
    case BankStrategy::kSoftBoundary:
      SoftBoundary(schedule, inside, &weights);
      break;
  }
  return weights;
}

}  // namespace ruvd::inference
