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

// Elastic weight consolidation: what former training held to be important changes less. The loss
// gets the penalty
//   strength / 2 * sum over i of F_i (theta_i - anchor_i)^2
// (Kirkpatrick et al. 2017, arXiv 1612.00796), F being the diagonal of the empirical Fisher
// information that runs along with training,
//   F <- rate * F_step + (1 - rate) * F
// ("EWC++", Chaudhry et al. 2018, arXiv 1801.10112, eq. 8), and F_step the mean over examples of
// their squared gradients, never the square of the batch's gradient. An example's gradient is that
// of its own loss in nats per token, times its reward, whatever its share of the step's loss: parts
// of a mixture count alike. Of preferences it is that of its part of the objective times the
// number of sequences in the step. A strength of as many tokens as an example has is then
// the Laplace approximation for former text of the same amount.
struct EwcOptions {
  double strength = 0;     // at least 0; 0: no penalty
  double fisher_rate = 0;  // 0 <= rate < 1; 0: the Fisher is not followed
  // Sequences of a step whose gradients are squared, at least 1, spread over those of its first
  // batch that do not follow the frozen network; each takes memory for all parameters.
  int examples = 4;
};

// INVALID_ARGUMENT for an option out of its range.
absl::Status CheckEwcOptions(const EwcOptions& options);

// What training that is over leaves to the next one.
struct EwcMemory {
  std::vector<float> anchor;   // the parameters it ended with
  std::vector<double> fisher;  // of the same size, not negative
};

// The memory in the checkpoint of a run that is over (TrainingRun::Checkpoint). INVALID_ARGUMENT
// for bytes that are none, or of a run that did not follow the Fisher.
absl::StatusOr<EwcMemory> EwcMemoryOf(std::span<const uint8_t> checkpoint);

// Digest of the numbers.
Digest EwcMemoryId(const EwcMemory& memory);

// The penalty in the loss's unit; adds its derivative to `gradient`. All sizes are equal.
double AddEwcPenalty(const EwcMemory& memory, double strength, std::span<const float> parameters,
                     std::span<float> gradient);

// Moves the running Fisher by the gradients of examples, one behind the other, each of them times
// its scale. An empty one begins with what they give.
void FollowFisher(std::span<const float> gradients, std::span<const double> scales, double rate,
                  std::vector<double>* fisher);

}  // namespace ruvd::inference::train
