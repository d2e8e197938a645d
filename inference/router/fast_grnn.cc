// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/fast_grnn.h"

#include <cmath>
#include <utility>

namespace ruvd::inference {
namespace {

// Adds a x to y; a is rows x columns.
void AddProduct(std::span<const double> a, std::span<const double> x, std::span<double> y) {
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) {
      y[i] += a[i * x.size() + j] * x[j];
    }
  }
}

// Adds a^T x to y; a is rows x columns.
void AddTransposed(std::span<const double> a, std::span<const double> x, std::span<double> y) {
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) {
      y[j] += a[i * y.size() + j] * x[i];
    }
  }
}

// Adds the outer product x y^T to a.
void AddOuter(std::span<const double> x, std::span<const double> y, std::span<double> a) {
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) {
      a[i * y.size() + j] += x[i] * y[j];
    }
  }
}

}  // namespace

size_t FastGrnn::Count(const ScorerShape& shape) {
  const size_t hidden = shape.hidden;
  const size_t features = shape.inputs / shape.steps;
  return shape.rank_w * (hidden + features) + 2 * shape.rank_u * hidden + 3 * hidden + 3;
}

FastGrnn::FastGrnn(const ScorerShape& shape)
    : Scorer(shape, Count(shape)),
      features_(shape.inputs / shape.steps),
      hidden_(shape.hidden),
      rank_w_(shape.rank_w),
      rank_u_(shape.rank_u) {
  size_t next = 0;
  const auto take = [&next](size_t size) {
    const Range range{next, size};
    next += size;
    return range;
  };
  w1_ = take(hidden_ * rank_w_);
  w2_ = take(features_ * rank_w_);
  u1_ = take(hidden_ * rank_u_);
  u2_ = take(hidden_ * rank_u_);
  b_z_ = take(hidden_);
  b_h_ = take(hidden_);
  scalars_ = take(2);
  v_ = take(hidden_);
  b_ = take(1);
}

void FastGrnn::Initialise(Random& random) {
  constexpr double kSpread = 0.3;
  // These are the initial values of the authors' implementation: sigmoid(1) = 0.73, sigmoid(-4) =
  // 0.018; biases are 1.
  constexpr double kZeta = 1;
  constexpr double kNu = -4;
  for (const Range& range : {w1_, w2_, u1_, u2_, v_}) {
    for (double& value : std::span(parameters_).subspan(range.begin, range.size)) {
      value = kSpread * random.Normal();
    }
  }
  for (const Range& range : {b_z_, b_h_}) {
    for (double& value : std::span(parameters_).subspan(range.begin, range.size)) {
      value = 1;
    }
  }
  parameters_[scalars_.begin] = kZeta;
  parameters_[scalars_.begin + 1] = kNu;
}

FastGrnn::Step FastGrnn::RunStep(std::span<const double> x, std::vector<double> before) const {
  Step step;
  step.low_w.resize(rank_w_);
  step.low_u.resize(rank_u_);
  AddTransposed(Of(w2_), x, step.low_w);
  AddTransposed(Of(u2_), before, step.low_u);
  std::vector<double> sum(hidden_);
  AddProduct(Of(w1_), step.low_w, sum);
  AddProduct(Of(u1_), step.low_u, sum);
  step.z.resize(hidden_);
  step.c.resize(hidden_);
  step.after.resize(hidden_);
  for (size_t i = 0; i < hidden_; ++i) {
    step.z[i] = Sigmoid(sum[i] + Of(b_z_)[i]);
    step.c[i] = std::tanh(sum[i] + Of(b_h_)[i]);
    step.after[i] = (zeta() * (1 - step.z[i]) + nu()) * step.c[i] + step.z[i] * before[i];
  }
  step.before = std::move(before);
  return step;
}

std::vector<FastGrnn::Step> FastGrnn::RunSteps(std::span<const double> x) const {
  std::vector<Step> steps;
  std::vector<double> state(hidden_);
  for (size_t i = 0; i < shape_.steps; ++i) {
    steps.push_back(RunStep(x.subspan(i * features_, features_), state));
    state = steps.back().after;
  }
  return steps;
}

double FastGrnn::Logit(std::span<const double> x) const {
  const std::vector<Step> steps = RunSteps(x);
  double logit = parameters_[b_.begin];
  for (size_t i = 0; i < hidden_; ++i) {
    logit += Of(v_)[i] * steps.back().after[i];
  }
  return logit;
}

std::vector<double> FastGrnn::StepBackward(const Step& step, std::span<const double> x,
                                           std::span<const double> d_after,
                                           std::span<double> gradient) const {
  const auto of = [gradient](const Range& range) {
    return gradient.subspan(range.begin, range.size);
  };
  const double zeta_now = zeta();
  const double nu_now = nu();
  std::vector<double> d_before(hidden_);
  std::vector<double> d_sum(hidden_);
  for (size_t i = 0; i < hidden_; ++i) {
    const double z = step.z[i];
    const double c = step.c[i];
    const double d_z = d_after[i] * (step.before[i] - zeta_now * c) * z * (1 - z);
    const double d_c = d_after[i] * (zeta_now * (1 - z) + nu_now) * (1 - c * c);
    of(b_z_)[i] += d_z;
    of(b_h_)[i] += d_c;
    d_sum[i] = d_z + d_c;
    d_before[i] = d_after[i] * z;
    of(scalars_)[0] += d_after[i] * (1 - z) * c * zeta_now * (1 - zeta_now);
    of(scalars_)[1] += d_after[i] * c * nu_now * (1 - nu_now);
  }
  std::vector<double> d_low_w(rank_w_);
  std::vector<double> d_low_u(rank_u_);
  AddTransposed(Of(w1_), d_sum, d_low_w);
  AddTransposed(Of(u1_), d_sum, d_low_u);
  AddOuter(d_sum, step.low_w, of(w1_));
  AddOuter(d_sum, step.low_u, of(u1_));
  AddOuter(x, d_low_w, of(w2_));
  AddOuter(step.before, d_low_u, of(u2_));
  AddProduct(Of(u2_), d_low_u, d_before);
  return d_before;
}

void FastGrnn::AddGradient(std::span<const double> x, double d_logit,
                           std::span<double> gradient) const {
  const std::vector<Step> steps = RunSteps(x);
  std::vector<double> d_state(hidden_);
  for (size_t i = 0; i < hidden_; ++i) {
    gradient[v_.begin + i] += d_logit * steps.back().after[i];
    d_state[i] = d_logit * Of(v_)[i];
  }
  gradient[b_.begin] += d_logit;
  for (size_t i = steps.size(); i-- > 0;) {
    d_state = StepBackward(steps[i], x.subspan(i * features_, features_), d_state, gradient);
  }
}

}  // namespace ruvd::inference
