// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "inference/router/scorer.h"

namespace ruvd::inference {

// The gated cell of FastGRNN (Kusupati et al. 2018, arXiv 1901.02358), starting from h = 0:
//   z = sigmoid(W x + U h + b_z),  c = tanh(W x + U h + b_h),
//   h' = (zeta (1 - z) + nu) * c + z * h,
// where W = W1 W2^T and U = U1 U2^T are shared by z and c, and zeta and nu are the sigmoids of
// learned scalars. The logit is v h + b after the last step.
class FastGrnn final : public Scorer {
 public:
  explicit FastGrnn(const ScorerShape& shape);
  // Draws the parameters that must not be 0.
  void Initialise(Random& random);

  double Logit(std::span<const double> x) const override;
  void AddGradient(std::span<const double> x, double d_logit,
                   std::span<double> gradient) const override;
  std::vector<Range> matrices() const override { return {w1_, w2_, u1_, u2_}; }

 private:
  // The values of one step, kept for the backward pass.
  struct Step {
    std::vector<double> before;  // h
    std::vector<double> low_w;   // W2^T x
    std::vector<double> low_u;   // U2^T h
    std::vector<double> z;
    std::vector<double> c;
    std::vector<double> after;  // h'
  };
  static size_t Count(const ScorerShape& shape);
  std::span<const double> Of(const Range& range) const {
    return std::span(parameters_).subspan(range.begin, range.size);
  }
  Step RunStep(std::span<const double> x, std::vector<double> before) const;
  std::vector<Step> RunSteps(std::span<const double> x) const;
  // Adds the gradients of the parameters that follow from d_after; returns the gradient of
  // `before`.
  std::vector<double> StepBackward(const Step& step, std::span<const double> x,
                                   std::span<const double> d_after,
                                   std::span<double> gradient) const;
  double zeta() const { return Sigmoid(parameters_[scalars_.begin]); }
  double nu() const { return Sigmoid(parameters_[scalars_.begin + 1]); }

  size_t features_;  // features of one step
  size_t hidden_;
  size_t rank_w_;
  size_t rank_u_;
  Range w1_, w2_, u1_, u2_;    // hidden x rank, features x rank, hidden x rank, hidden x rank
  Range b_z_, b_h_, scalars_;  // scalars: zeta's and nu's, before the sigmoid
  Range v_, b_;
};

}  // namespace ruvd::inference
