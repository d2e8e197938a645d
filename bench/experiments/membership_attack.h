// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/paired.h"
#include "federation/daf/banked_values.h"
#include "federation/learner/local_round.h"

// Membership inference: an attacker has texts and asks which of them are lessons of a node whose
// releases it sees.
namespace ruvd::bench {

// Returns the area under the ROC curve: the share of pairs (member, other) in which the member has
// the higher score; equal scores count half. 0.5 is a guess. 0.5 where one of the lists is empty.
double Auc(std::span<const double> members, std::span<const double> others);
// Returns it with its 95 % interval by the percentile bootstrap, in which members and others are
// resampled apart. The bounds are infinite for fewer than kMinDocuments of either.
Interval AucInterval(std::span<const double> members, std::span<const double> others,
                     uint64_t seed = 1);

// Returns the direction of every lesson's mean gradient at `at` over so many maskings: it is minus
// the mean over all lessons, so that what all texts of a domain have in common says nothing, and of
// length 1. The maskings are the attacker's own, because it does not know the node's. Fails as the
// trainer does.
absl::StatusOr<std::vector<std::vector<float>>> Directions(const federation::BankedValues& at,
                                                           federation::LessonTrainer& trainer,
                                                           size_t maskings, uint64_t seed);

// Returns the score of each lesson: the product of its direction and what was released.
std::vector<double> Products(std::span<const std::vector<float>> directions,
                             std::span<const double> released);

}  // namespace ruvd::bench
