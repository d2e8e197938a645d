// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "federation/daf/banked_values.h"
#include "federation/learner/plan.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/train/losses.h"
#include "privacy/consent/consent.h"

namespace ruvd::bench {

// A cluster, one of whose nodes is attacked; borrowed.
struct AttackedCluster {
  std::shared_ptr<const inference::Model> model;
  const inference::FrameSet* frame = nullptr;
  ParallelRunner* runner = nullptr;
  const federation::LearnerPlan* plan = nullptr;  // of gradients
  // Lessons by node; the first node is attacked, and the others are only in masked sums.
  std::span<const std::vector<inference::TrainingExample>> lessons;
};

struct ReleaseTerms {
  privacy::ConsentTier tier = privacy::ConsentTier::kDp;  // kPublic: the plain sum
  double epsilon = 8;                                     // of a lesson over all rounds
  double delta = 1e-5;
  uint32_t rounds = 20;
  size_t max_batch = 512;  // units that a sample is expected to have at most
  // Plain sums are of all lessons in every round, and not of samples as under `dp`.
  bool every_lesson = false;
  uint64_t seed = 1;  // of samples, maskings and noise
};

// What an attacker sees of the attacked node in all rounds.
struct Releases {
  std::vector<double> sum;          // of all released sums, in units of the plan's grid
  federation::BankedValues values;  // the cluster's state after them
  double rate = 0;                  // of the attacked node's samples
  double epsilon = 0;               // that a lesson spent; infinite for plain sums
};

// Runs rounds as a node does, except that it does not refuse a release whose signal the noise
// buries: GradientSum, then PrepareUnits or NoiseUnitShare, then ApplyRounds. The sampling rate
// is the largest within epsilon; plain sums have the rate of the tier `dp`, or all lessons.
// Pairwise masks are left out, because they cancel in the sum, which is all that an attacker sees.
// Fails as those functions do.
absl::StatusOr<Releases> RunReleases(const AttackedCluster& cluster, const ReleaseTerms& terms);

}  // namespace ruvd::bench
