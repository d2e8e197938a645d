// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/ewc.h"

#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/limits.h"
#include "inference/train/run_state.h"

namespace ruvd::inference::train {

absl::Status CheckEwcOptions(const EwcOptions& options) {
  if (!std::isfinite(options.strength) || options.strength < 0 || !(options.fisher_rate >= 0) ||
      !(options.fisher_rate < 1) || options.examples < 1 ||
      options.examples > limits::kMaxTrainingBatch) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the strength of EWC must be at least 0, its fisher rate at "
                 "least 0 and below 1, its examples 1 to {}",
                 limits::kMaxTrainingBatch);
  }
  return absl::OkStatus();
}

absl::StatusOr<EwcMemory> EwcMemoryOf(std::span<const uint8_t> checkpoint) {
  ASSIGN_OR_RETURN(RunState state, DecodeRunState(checkpoint));
  if (state.fisher.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the training run did not follow its Fisher information; run it with a fisher "
                 "rate above zero");
  }
  return EwcMemory{.anchor = std::move(state.parameters), .fisher = std::move(state.fisher)};
}

Digest EwcMemoryId(const EwcMemory& memory) {
  ByteWriter out;
  out.Write<uint64_t>(memory.anchor.size());
  for (const float value : memory.anchor) {
    out.Write(value);
  }
  for (const double value : memory.fisher) {
    out.Write(value);
  }
  return Sha256(out.str());
}

double AddEwcPenalty(const EwcMemory& memory, double strength, std::span<const float> parameters,
                     std::span<float> gradient) {
  RUVD_CHECK(memory.anchor.size() == parameters.size() &&
             memory.fisher.size() == parameters.size() && gradient.size() == parameters.size());
  double penalty = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const double away = static_cast<double>(parameters[i]) - static_cast<double>(memory.anchor[i]);
    const double pull = strength * memory.fisher[i] * away;
    penalty += 0.5 * pull * away;
    gradient[i] += static_cast<float>(pull);
  }
  return penalty;
}

void UpdateFisher(std::span<const float> gradients, std::span<const double> scales, double rate,
                  std::vector<double>* fisher) {
  RUVD_CHECK(!scales.empty() && gradients.size() % scales.size() == 0);
  const size_t parameters = gradients.size() / scales.size();
  const bool begins = fisher->empty();
  fisher->resize(parameters);
  for (size_t i = 0; i < parameters; ++i) {
    double squares = 0;
    for (size_t example = 0; example < scales.size(); ++example) {
      const double g = scales[example] * static_cast<double>(gradients[example * parameters + i]);
      squares += g * g;
    }
    const double mean = squares / static_cast<double>(scales.size());
    double& value = (*fisher)[i];
    value = begins ? mean : value + rate * (mean - value);
  }
}

}  // namespace ruvd::inference::train
