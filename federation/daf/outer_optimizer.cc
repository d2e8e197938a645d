// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/outer_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

bool IsDecay(double value) {
  return value >= 0 && value < 1;
}

bool IsVariance(double value) {
  return value >= 0 && std::isfinite(value);
}

// Whether a state has the powers that its number of steps gives. A power that is 0 after many steps
// is right, too.
bool PowersFit(const OuterOptimizer::State& state, OuterOptions::Kind kind) {
  if (kind != OuterOptions::Kind::kAdam || state.steps == 0) {
    return state.beta1_power == 1 && state.beta2_power == 1;
  }
  return IsDecay(state.beta1_power) && IsDecay(state.beta2_power);
}

}  // namespace

absl::StatusOr<OuterOptimizer> OuterOptimizer::Create(size_t values, const OuterOptions& options) {
  if (!(options.step > 0) || !(options.step <= 1) || !IsDecay(options.momentum) ||
      !IsDecay(options.beta1) || !IsDecay(options.beta2) || !(options.epsilon > 0) ||
      !std::isfinite(options.epsilon)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the outer step is {}, momentum {}, beta1 {}, beta2 {} and epsilon {}; the step "
                 "must be above 0 and at most 1, momentum and both betas at least 0 and below 1, "
                 "and epsilon above 0",
                 options.step, options.momentum, options.beta1, options.beta2, options.epsilon);
  }
  return OuterOptimizer(values, options);
}

OuterOptimizer::OuterOptimizer(size_t values, const OuterOptions& options) : options_(options) {
  state_.first.resize(options.kind == OuterOptions::Kind::kPlain ? 0 : values);
  state_.second.resize(options.kind == OuterOptions::Kind::kAdam ? values : 0);
}

absl::StatusOr<OuterOptimizer> OuterOptimizer::Restore(size_t values, const OuterOptions& options,
                                                       State state) {
  ASSIGN_OR_RETURN(OuterOptimizer optimizer, Create(values, options));
  const bool fits = state.first.size() == optimizer.state_.first.size() &&
                    state.second.size() == optimizer.state_.second.size();
  if (!fits || !std::ranges::all_of(state.first, [](double v) { return std::isfinite(v); }) ||
      !std::ranges::all_of(state.second, IsVariance) || !IsVariance(state.noise) ||
      !PowersFit(state, options.kind)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the saved state is not that of an outer optimiser of {} values and this kind; "
                 "start again with Create",
                 values);
  }
  optimizer.state_ = std::move(state);
  return optimizer;
}

OuterOptimizer::Proposal OuterOptimizer::Propose(std::span<const float> delta,
                                                 double noise_variance) const {
  Proposal proposal{.move = std::vector<float>(delta.size()), .state = state_};
  State& next = proposal.state;
  ++next.steps;
  const OuterOptions& o = options_;
  if (o.kind == OuterOptions::Kind::kAdam) {
    next.beta1_power *= o.beta1;
    next.beta2_power *= o.beta2;
  }
  const double bias1 = 1 - next.beta1_power;
  const double bias2 = 1 - next.beta2_power;
  next.noise = o.beta2 * state_.noise + (1 - o.beta2) * noise_variance;
  for (size_t i = 0; i < delta.size(); ++i) {
    const double d = double{delta[i]};
    double move = d;
    if (o.kind == OuterOptions::Kind::kMomentum) {
      double& velocity = next.first[i];
      velocity = o.momentum * velocity + d;
      move = o.nesterov ? o.momentum * velocity + d : velocity;
    } else if (o.kind == OuterOptions::Kind::kAdam) {
      next.first[i] = o.beta1 * next.first[i] + (1 - o.beta1) * d;
      next.second[i] = o.beta2 * next.second[i] + (1 - o.beta2) * d * d;
      // If the noise is as large as the whole moment, the difference is random; without a floor
      // above zero, that coordinate would move by first / epsilon.
      const double signal = std::max(next.second[i] - next.noise, next.noise / 4) / bias2;
      move = next.first[i] / bias1 / (std::sqrt(signal) + o.epsilon);
    }
    proposal.move[i] = static_cast<float>(o.step * move);
  }
  return proposal;
}

void OuterOptimizer::Commit(Proposal proposal) {
  state_ = std::move(proposal.state);
}

}  // namespace ruvd::federation
