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
  // 1 / propensity if the way was chosen with that probability; above 0
  double weight = 1;
};

struct ScorerTraining {
  int epochs = 60;
  int batch = 32;
  double learning_rate = 0.01;  // Adam (arXiv 1412.6980), betas 0.9 and 0.999
  double weight_decay = 1e-4;   // of matrices, decoupled (as in AdamW)
  // Share of the matrices' entries that stay nonzero; 1 trains dense matrices throughout. Otherwise
  // training has FastGRNN's three stages, each a third of the epochs: dense training, training in
  // which all but the largest entries are set to 0 after every step (iterative hard thresholding),
  // and training of the remaining entries.
  double density = 1;
};

// Minimises the weighted mean of the logistic loss. INVALID_ARGUMENT if there are no examples or
// too many, if an example has the wrong number of features or features that are not finite, or if
// an option is out of range.
absl::Status TrainScorer(std::span<const RoutingExample> examples, const ScorerTraining& options,
                         Random& random, Scorer* scorer);

// Returns log(1 + exp(-y logit)) with y = 1 if good, else -1.
double LogisticLoss(double logit, bool good);

// Maps logits to probabilities: P(good) = sigmoid(slope * logit + offset) (Platt 1999).
struct Calibration {
  double slope = 1;
  double offset = 0;
  double Probability(double logit) const { return Sigmoid(slope * logit + offset); }
};

// Fits a calibration by Newton's method to examples that the scorer was not trained on. It uses
// Platt's targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2), so few examples never give certainty.
// Without examples it returns the identity.
Calibration FitCalibration(const Scorer& scorer, std::span<const RoutingExample> examples);

}  // namespace ruvd::inference
