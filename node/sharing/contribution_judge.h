// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_set.h"
#include "federation/learner/verdict.h"
#include "federation/limits.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "node/learning/learning_services.h"
#include "node/limits.h"
#include "privacy/consent/user_consent.h"

namespace ruvd::sharing {

struct ContributionJudgeOptions {
  std::shared_ptr<const inference::FrameSet> frame;
  inference::CoreShape shape;  // of the global adapter, in the frame
  float min_rating = 0.7F;     // lowest rating of a lesson that judges
  // With fewer lessons than this, a node gives no verdict
  size_t least_lessons = 5;
  size_t most_contributions = limits::kMaxJudgedContributions;
};

// A round whose contributions are to be judged.
struct RoundToJudge {
  std::shared_ptr<const federation::LearnerPlan> plan;
  uint64_t round = 0;
  federation::BankedValues base;                             // of the state before the round
  std::vector<federation::RoundContribution> contributions;  // of other members, of deltas
};

// A verdict that may be offered to peers, and what only this node may know about it.
struct MeasuredVerdict {
  federation::Verdict verdict;
  size_t lessons = 0;   // that judged
  size_t left_out = 0;  // contributions above the limit, or for which the time was too short
  // The people whose lessons judged, each once: when one of them withdraws, the verdict must be
  // withdrawn, too.
  std::vector<privacy::Contributor> contributors;
};

// Measures what each contribution of a round alone does to this node's evaluation lessons
// (IsEvaluationLesson): the loss with the global adapter of the state before the round, less the
// loss once the contribution is added, in nats per token under the same masks. The gain in a bank
// is that of the values of this bank alone, which act in the bank's range of t.
//
// A verdict says something about the lessons, so only lessons judge from which something may leave
// under the tier `public` (GatherShareableLessons): the newest, limits::kMaxEvaluationLessons at
// most. For the same reason no other adapter of this node acts beside the global one.
//
// It takes at most one round's length of time. Contributions are drawn by a hash of them and of
// this node, so that members whose time is short judge different ones. It changes nothing, so it is
// as thread-safe as what it is given; call it on the learning thread.
class ContributionJudge {
 public:
  explicit ContributionJudge(ContributionJudgeOptions options) : options_(std::move(options)) {}

  // Gives way to serving between two forward passes. Errors: CONSENT_MISSING if too few evaluation
  // lessons may leave, LIMIT_EXCEEDED if the time was too short for a single contribution, ABORTED
  // with the reason CHANGED if a lesson or a consent was withdrawn meanwhile, CANCELLED, and those
  // of the stores, the frame and the forward pass. There must be a contribution.
  absl::StatusOr<MeasuredVerdict> Judge(const learning::LearningServices& services,
                                        const RoundToJudge& round) const;

 private:
  const ContributionJudgeOptions options_;
};

}  // namespace ruvd::sharing
