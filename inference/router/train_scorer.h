// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "inference/router/scorer.h"

namespace ruvd::inference {

// A request whose outcome is known.
struct RoutingExample {
  std::vector<double> features;
  bool good = false;  // the way of serving was good enough
  // 1 / propensity, where the way was chosen with that probability; above 0.
  double weight = 1;
};

struct ScorerTraining {
  int epochs = 60;
  int batch = 32;
  double learning_rate = 0.01;  // Adam (arXiv 1412.6980), betas 0.9 and 0.999
  double weight_decay = 1e-4;   // of matrices, decoupled
  // Share of the matrices' entries that stay: FastGRNN's three stages are a dense third of the
  // epochs, a third in which all but the largest entries are set to 0 after every step (iterative
  // hard thresholding), and a third in which those that are left are trained. 1: dense throughout.
  double density = 1;
};

// Minimises the weighted mean of the logistic loss. INVALID_ARGUMENT for no example, too many, one
// whose features do not fit or are not finite, or an option out of range.
absl::Status TrainScorer(std::span<const RoutingExample> examples, const ScorerTraining& options,
                         Random& random, Scorer* scorer);

// log(1 + exp(-y logit)) with y = 1 for good, -1 for not.
double LogisticLoss(double logit, bool good);

// P(good) = sigmoid(slope * logit + offset) (Platt 1999).
struct Calibration {
  double slope = 1;
  double offset = 0;
  double Probability(double logit) const { return Sigmoid(slope * logit + offset); }
};

// Fits a calibration by Newton's method to examples the scorer was not trained on, with Platt's
// targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2), so that few examples never give certainty. Without
// examples the identity.
Calibration FitCalibration(const Scorer& scorer, std::span<const RoutingExample> examples);

}  // namespace ruvd::inference
