// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_gate.h"

#include <algorithm>
#include <cmath>

namespace ruvd::inference {

MemoryFeatures MemoryGate::Standardise(const MemoryFeatures& features) const {
  MemoryFeatures x;
  for (size_t i = 0; i < kMemoryFeatures; ++i) {
    x[i] = std::clamp((features[i] - mean[i]) * scale[i], -kFeatureBound, kFeatureBound);
  }
  return x;
}

float MemoryGate::Logit(const MemoryFeatures& features) const {
  const MemoryFeatures x = Standardise(features);
  float logit = bias;
  for (size_t i = 0; i < kMemoryFeatures; ++i) {
    logit += direct[i] * x[i];
  }
  for (size_t h = 0; h < kHidden; ++h) {
    float sum = hidden_bias[h];
    for (size_t i = 0; i < kMemoryFeatures; ++i) {
      sum += hidden[h * kMemoryFeatures + i] * x[i];
    }
    logit += output[h] * std::tanh(sum);
  }
  return logit;
}

float MemoryGate::Share(const MemoryFeatures& features) const {
  return 1 / (1 + std::exp(-Logit(features)));
}

std::array<float, MemoryGate::kParameters> MemoryGate::Flatten() const {
  std::array<float, kParameters> values;  // NOLINT(*-member-init): filled below
  auto next = values.begin();
  const auto append = [&next](const auto& part) { next = std::ranges::copy(part, next).out; };
  append(mean);
  append(scale);
  append(hidden);
  append(hidden_bias);
  append(output);
  append(direct);
  *next = bias;
  return values;
}

MemoryGate MemoryGate::FromFlat(std::span<const float, kParameters> values) {
  MemoryGate gate;
  auto next = values.begin();
  const auto take = [&next](auto& part) {
    std::copy_n(next, part.size(), part.begin());
    next += static_cast<std::ptrdiff_t>(part.size());
  };
  take(gate.mean);
  take(gate.scale);
  take(gate.hidden);
  take(gate.hidden_bias);
  take(gate.output);
  take(gate.direct);
  gate.bias = *next;
  return gate;
}

}  // namespace ruvd::inference
