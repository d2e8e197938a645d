// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// The direction in which two neighbouring data sets differ: one record removed or added. The
// guarantee is the larger of the two epsilons. With sampling the two directions have different loss
// distributions.
enum class Neighbour : uint8_t { kRemoved, kAdded };

// A discrete privacy loss distribution: probability `mass[i]` of a loss of (first + i) * interval,
// and probability `infinite` of an unbounded loss.
struct LossDistribution {
  int64_t first = 0;
  double interval = 0;
  std::vector<double> mass;
  double infinite = 0;
};

// Returns the privacy loss of one step of `mechanism`, which must have passed CheckSampledGaussian.
// It is made discrete so that the delta of no epsilon becomes smaller: the mass of every cell of
// the grid is moved to the cell's two ends so that the mass under both data sets is kept
// (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots: tighter discrete
// approximations of privacy loss distributions", section 4). Tails of probability e^`log_tail` are
// cut: the upper tail moves to infinity and the lower tail to the first cell. Fails with
// LIMIT_EXCEEDED for more than kMaxPldCells cells.
absl::StatusOr<LossDistribution> SampledGaussianLoss(const SampledGaussian& mechanism,
                                                     Neighbour neighbour, double interval,
                                                     double log_tail);

}  // namespace ruvd::privacy::dp
