// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/banked_values.h"
#include "federation/daf/timestep_histogram.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/release/unit_release.h"

namespace ruvd::limits {
// Gradients of units that a local round holds at a time: together with the activations of as many
// sequences, a few MB for the adapters of a 29M model
inline constexpr size_t kGradientsAtOnce = 8;
// Lessons with which a user, or a whole node as one unit, takes part in a sample. More change the
// clipped sum little and take as long as a sample of that many users. Whichever lessons are drawn,
// the noise hides the unit with all that it has, so the choice costs no privacy.
inline constexpr size_t kMaxUnitLessons = 16;
}  // namespace ruvd::limits

// What one node computes in one round, from the global state and its own lessons. All functions
// depend on their arguments alone.
namespace ruvd::federation {

// The model and a node's lessons, as a round sees them: lessons have the numbers 0 to lessons() -
// 1. Values are those of the plan, by bank. Not thread-safe.
class LessonTrainer {
 public:
  virtual ~LessonTrainer() = default;
  virtual size_t lessons() const = 0;

  struct Trained {
    BankedValues values;
    std::array<uint64_t, kScheduleBins> maskings{};  // of all steps, by tenth of t
    double loss = 0;                                 // of the last step, in nats per token
  };
  // Trains from `from` on the lessons. Equal arguments give equal values.
  virtual absl::StatusOr<Trained> Train(const BankedValues& from, const LearnerPlan::Local& local,
                                        uint64_t seed) = 0;

  // One masking of a lesson; it depends on no other draw.
  struct Draw {
    size_t lesson = 0;
    uint64_t seed = 0;
  };
  // Adds the gradient of the loss of each draw at `at` to the values at gradients[i], all banks one
  // after the other; equal pointers give a sum. Both lists have one length. A lesson that cannot be
  // masked adds nothing, because a failure would show what one lesson is like.
  virtual absl::Status Gradients(const BankedValues& at, std::span<const Draw> draws,
                                 std::span<float* const> gradients) = 0;
};

// A contribution of kind kDelta, and the loss that the node saw in its last step.
struct LocalDelta {
  Contribution contribution;
  double loss = 0;
};

// Trains plan.local from the state `base` and returns the change. It takes only as many steps as
// show each lesson once, in the mean, and one at least. A bank in which no masking fell,
// so that nothing changed, is absent. Fails with INVALID_ARGUMENT for a plan of gradients, with
// UPDATE_INVALID if nothing changed at all or a value is not finite, and as the trainer does.
absl::StatusOr<LocalDelta> DeltaContribution(const LearnerPlan& plan, uint64_t round,
                                             const GlobalState& base, LessonTrainer& trainer,
                                             uint64_t seed);

// The lessons of each unit, as numbers of the trainer; a lesson is in one unit.
using LessonUnits = std::vector<std::vector<size_t>>;

// Draws a Poisson sample of the units and returns the sum of their clipped gradients at `base`. A
// unit with more than limits::kMaxUnitLessons lessons takes part with that many of them, which are
// drawn anew in each round. The sum protects no unit before it is noised
// (privacy/release/unit_release.h). At most limits::kGradientsAtOnce gradients are in memory at a
// time, and the trainer is given as many draws at a time at most. Fails with INVALID_ARGUMENT for a
// plan of deltas, and as UnitSum and the trainer do.
absl::StatusOr<privacy::UnitSum> GradientSum(const LearnerPlan& plan, const GlobalState& base,
                                             LessonTrainer& trainer, const LessonUnits& units,
                                             double sampling_rate,
                                             const privacy::dp::RandomBytes& random);

// Returns the contribution of kind kGradient whose units are minus `sum`, a plain or a noised one
// of GradientSum, which is emptied. Its schedule is the plan's, because it depends on no lesson.
// Fails as CheckContribution does.
absl::StatusOr<Contribution> GradientContribution(const LearnerPlan& plan, uint64_t round,
                                                  const GlobalState& base, std::vector<int32_t> sum,
                                                  Contribution::Noise noise);

}  // namespace ruvd::federation
