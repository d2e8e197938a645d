// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/numerics/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/status.h"

namespace ruvd::inference::train {

Optimizer::Optimizer(size_t parameters, const OptimizerOptions& options,
                     std::vector<ParameterGroup> groups)
    : options_(options), groups_(std::move(groups)) {
  if (groups_.empty()) {
    groups_.push_back({.count = parameters});
  }
  size_t covered = 0;
  for (const ParameterGroup& group : groups_) {
    covered += group.count;
  }
  RUVD_CHECK(covered == parameters);
  state_.first.resize(parameters);
  state_.second.resize(options.kind == OptimizerOptions::Kind::kAdamW ? parameters : 0);
}

void Optimizer::Step(std::span<const float> gradient, double learning_rate,
                     std::span<float> parameters) {
  RUVD_CHECK(gradient.size() == state_.first.size() && parameters.size() == state_.first.size());
  ++state_.steps;
  size_t begin = 0;
  for (const ParameterGroup& group : groups_) {
    const size_t end = begin + group.count;
    if (options_.kind == OptimizerOptions::Kind::kAdamW) {
      StepAdamW(begin, end, gradient, learning_rate * group.rate, parameters);
    } else {
      StepSgd(begin, end, gradient, learning_rate * group.rate, parameters);
    }
    for (size_t i = begin; group.decay > 0 && i < end; ++i) {
      parameters[i] -= static_cast<float>(group.decay * static_cast<double>(parameters[i]));
    }
    begin = end;
  }
}

void Optimizer::StepAdamW(size_t begin, size_t end, std::span<const float> gradient,
                          double learning_rate, std::span<float> parameters) {
  const auto steps = static_cast<double>(state_.steps);
  const double bias1 = 1 - std::pow(options_.beta1, steps);
  const double bias2 = 1 - std::pow(options_.beta2, steps);
  for (size_t i = begin; i < end; ++i) {
    const double g = gradient[i];
    double& mean = state_.first[i];
    double& square = state_.second[i];
    mean += (1 - options_.beta1) * (g - mean);
    square += (1 - options_.beta2) * (g * g - square);
    const double update = mean / bias1 / (std::sqrt(square / bias2) + options_.epsilon) +
                          options_.weight_decay * parameters[i];
    parameters[i] -= static_cast<float>(learning_rate * update);
  }
}

void Optimizer::StepSgd(size_t begin, size_t end, std::span<const float> gradient,
                        double learning_rate, std::span<float> parameters) {
  for (size_t i = begin; i < end; ++i) {
    double& velocity = state_.first[i];
    velocity = options_.momentum * velocity + gradient[i];
    const double update = velocity + options_.weight_decay * parameters[i];
    parameters[i] -= static_cast<float>(learning_rate * update);
  }
}

bool Optimizer::Restore(OptimizerState state) {
  if (state.first.size() != state_.first.size() || state.second.size() != state_.second.size()) {
    return false;
  }
  state_ = std::move(state);
  return true;
}

double Norm(std::span<const float> gradient) {
  double squares = 0;
  for (const float g : gradient) {
    squares += static_cast<double>(g) * g;
  }
  return std::sqrt(squares);
}

double ClipNorm(std::span<float> gradient, double limit) {
  const double norm = Norm(gradient);
  if (norm > limit) {
    const auto factor = static_cast<float>(limit / norm);
    for (float& g : gradient) {
      g *= factor;
    }
  }
  return norm;
}

double LearningRateShare(const ScheduleOptions& options, uint64_t step, uint64_t steps) {
  using Kind = ScheduleOptions::Kind;
  constexpr double kOneCycleStart = 1.0 / 25;
  const auto all = static_cast<double>(steps);
  const double warm_up = options.warm_up > 0 ? std::max(1.0, std::floor(options.warm_up * all)) : 0;
  const auto at = static_cast<double>(step);
  const auto cosine = [](double from, double to, double progress) {
    return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  };
  if (at < warm_up) {
    return options.kind == Kind::kOneCycle ? cosine(kOneCycleStart, 1.0, at / warm_up)
                                           : (at + 1) / warm_up;
  }
  const double progress = (at - warm_up) / std::max(1.0, all - warm_up);
  switch (options.kind) {
    case Kind::kConstant:
      return 1.0;
    case Kind::kLinear:
      return 1.0 - (1.0 - options.final_share) * progress;
    case Kind::kCosine:
    case Kind::kOneCycle:
      break;
  }
  return cosine(1.0, options.final_share, progress);
}

}  // namespace ruvd::inference::train
