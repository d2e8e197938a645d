// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "inference/router/scorer.h"

namespace ruvd::inference {

// The gated cell of FastGRNN (Kusupati et al. 2018, arXiv 1901.02358), from h = 0:
//   z = sigmoid(W x + U h + b_z),  c = tanh(W x + U h + b_h),
//   h' = (zeta (1 - z) + nu) * c + z * h,
// with W = W1 W2^T and U = U1 U2^T shared by both, and zeta, nu the sigmoids of learned scalars.
// The logit is v h + b after the last step.
class FastGrnn final : public Scorer {
 public:
  explicit FastGrnn(const ScorerShape& shape);
  // Draws what must not be 0.
  void Initialise(Random& random);

  double Logit(std::span<const double> x) const override;
  void AddGradient(std::span<const double> x, double d_logit,
                   std::span<double> gradient) const override;
  std::vector<Range> matrices() const override { return {w1_, w2_, u1_, u2_}; }

 private:
  // One step's values, kept for the backward pass.
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
  // From d_after to the gradients of the parameters; returns that of `before`.
  std::vector<double> BackStep(const Step& step, std::span<const double> x,
                               std::span<const double> d_after, std::span<double> gradient) const;
  double zeta() const { return Sigmoid(parameters_[scalars_.begin]); }
  double nu() const { return Sigmoid(parameters_[scalars_.begin + 1]); }

  size_t features_;  // of a step
  size_t hidden_;
  size_t rank_w_;
  size_t rank_u_;
  Range w1_, w2_, u1_, u2_;    // hidden x rank, features x rank, hidden x rank, hidden x rank
  Range b_z_, b_h_, scalars_;  // scalars: of zeta, of nu
  Range v_, b_;
};

}  // namespace ruvd::inference
