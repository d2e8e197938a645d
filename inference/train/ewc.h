// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace ruvd::inference::train {

// Elastic weight consolidation (EWC): parameters that were important in earlier training change
// less. The loss gets the penalty
//   strength / 2 * sum over i of F_i (theta_i - anchor_i)^2
// (Kirkpatrick et al. 2017, arXiv 1612.00796). F is the diagonal of the empirical Fisher
// information, followed during training as
//   F <- rate * F_step + (1 - rate) * F
// ("EWC++", Chaudhry et al. 2018, arXiv 1801.10112, eq. 8). F_step is the mean over examples of
// their squared gradients, never the square of the batch's gradient. The gradient of an example is
// that of its own loss in nats per token times its reward, independent of its share of the step's
// loss, so all parts of a mixture count equally. For preferences it is the gradient of the
// example's part of the objective times the number of sequences in the step. A strength equal to
// the number of tokens in an example then gives the Laplace approximation for the same amount of
// earlier text.
struct EwcOptions {
  double strength = 0;     // at least 0; 0: no penalty
  double fisher_rate = 0;  // 0 <= rate < 1; 0: the Fisher information is not followed
  // Number of sequences of a step whose gradients are squared, at least 1. They are spread over the
  // sequences of the step's first batch that do not follow the frozen network. Each takes memory
  // for a gradient of all parameters.
  int examples = 4;
};

// Returns INVALID_ARGUMENT for an option out of range.
absl::Status CheckEwcOptions(const EwcOptions& options);

// What a finished training leaves for the next one.
struct EwcMemory {
  std::vector<float> anchor;   // the final parameters
  std::vector<double> fisher;  // of the same size; values are not negative
};

// Returns the memory stored in the checkpoint of a finished run (TrainingRun::Checkpoint).
// INVALID_ARGUMENT for bytes that are not a checkpoint, or of a run that did not follow the Fisher
// information.
absl::StatusOr<EwcMemory> EwcMemoryOf(std::span<const uint8_t> checkpoint);

// Returns a digest of the values.
Digest EwcMemoryId(const EwcMemory& memory);

// Returns the penalty in the unit of the loss, and adds its derivative to `gradient`. All sizes
// must be equal.
double AddEwcPenalty(const EwcMemory& memory, double strength, std::span<const float> parameters,
                     std::span<float> gradient);

// Updates the running Fisher with the gradients of examples, stored one after the other; each
// gradient is multiplied by its scale. An empty Fisher starts with the values of this call.
void UpdateFisher(std::span<const float> gradients, std::span<const double> scales, double rate,
                  std::vector<double>* fisher);

}  // namespace ruvd::inference::train
