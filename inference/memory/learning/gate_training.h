// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/memory/memory_gate.h"

namespace ruvd::inference {

// A position whose token is known, as model and memory predicted it.
struct GateExample {
  MemoryFeatures features{};
  float model = 0;   // probability that the model gave to the token
  float memory = 0;  // likewise the memory
  float weight = 1;  // of the position in the loss, above 0
};

struct GateTrainingOptions {
  int steps = 300;
  double learning_rate = 0.02;
  uint64_t seed = 1;
};

// Returns the weighted mean of -log((1 - g) model + g memory), in nats per token, and adds its
// gradient by MemoryGate's parameters to `gradient`, unless that is empty. The mean and the scale
// of the features get no gradient.
double GateLoss(ParallelRunner& runner, const MemoryGate& gate,
                std::span<const GateExample> examples, std::span<float> gradient);

// Fits a gate by AdamW on all examples at once. It begins as a gate that trusts the memory little.
// `examples` must not be empty. Examples of text that the memory does not help teach it to close.
MemoryGate TrainGate(ParallelRunner& runner, std::span<const GateExample> examples,
                     const GateTrainingOptions& options);

}  // namespace ruvd::inference
