// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// In which direction two neighbouring data sets differ; the larger of both epsilons is the
// guarantee. With sampling the two are different distributions.
enum class Neighbour : uint8_t { kRemoved, kAdded };

// A discrete privacy loss distribution: probability `mass[i]` of a loss of (first + i) * interval,
// and `infinite` of a loss without bound.
struct LossDistribution {
  int64_t first = 0;
  double interval = 0;
  std::vector<double> mass;
  double infinite = 0;
};

// The privacy loss of one step of `mechanism`, which has passed CheckSampledGaussian, made discrete
// so that no epsilon gets a smaller delta: on every cell of the grid the mass goes to the cell's
// ends so that the mass under both data sets is kept (Doroshenko, Ghazi, Kamath, Kumar and
// Manurangsi 2022, "Connect the dots: tighter discrete approximations of privacy loss
// distributions", section 4). Losses rarer than e^`log_tail` are cut: above to infinity, below up
// to the first cell. LIMIT_EXCEEDED for more than kMaxPldCells cells.
absl::StatusOr<LossDistribution> SampledGaussianLoss(const SampledGaussian& mechanism,
                                                     Neighbour neighbour, double interval,
                                                     double log_tail);

}  // namespace ruvd::privacy::dp
