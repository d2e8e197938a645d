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
#include "inference/adapter/bank_router.h"
#include "inference/adapter/limits.h"

namespace ruvd::inference {

// How a TALoRA maps the masked share t to weights of its banks.
enum class BankStrategy : uint8_t {
  kDiscrete,      // only the bank that contains t
  kLinear,        // the two banks whose middles t lies between, weighted by the distances
  kAttention,     // softmax of a learned routing network over t and the query's embedding
  kSoftBoundary,  // neighbours fade into each other at their boundary, by sigmoids of a temperature
};
std::string_view BankStrategyName(BankStrategy strategy);  // "discrete", "linear", ...
std::optional<BankStrategy> BankStrategyByName(std::string_view name);

// The ranges of t that the banks stand for: bank k is [boundaries[k - 1], boundaries[k]), with 0
// before the first boundary and 1 after the last one.
struct BankSchedule {
  std::vector<float> boundaries = {0.3F, 0.6F};  // ascending, within (0, 1); may be empty
  BankStrategy strategy = BankStrategy::kDiscrete;
  // For kSoftBoundary, this is the width of the transition in units of t. Towards 0 it becomes
  // kDiscrete.
  float temperature = 0.05F;

  size_t banks() const { return boundaries.size() + 1; }
};

// Returns ADAPTER_INVALID for boundaries that do not ascend within (0, 1), for more than
// limits::kMaxTimestepBanks banks, or for a temperature outside limits::kMinBankTemperature to 1.
absl::Status CheckSchedule(const BankSchedule& schedule);

// Returns the bank of t. A boundary belongs to the bank above it. A t below 0 counts as 0, above 1
// as 1.
size_t BankIndex(const BankSchedule& schedule, float t);

// Weights of the banks: not negative, with sum 1 (up to rounding). Entries after the last bank are
// 0.
using BankWeights = std::array<float, limits::kMaxTimestepBanks>;

// Returns the weights at t. Except for kDiscrete they are continuous in t. `router` is used only by
// kAttention; `query` must have its embedding's size, or be empty, which counts as zeros.
BankWeights WeightsAt(const BankSchedule& schedule, const BankRouter* router, float t,
                      std::span<const float> query);

}  // namespace ruvd::inference
