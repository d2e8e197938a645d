// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/adapted_transformer.h"

#include <vector>

namespace ruvd::bench {

absl::Status AdaptedTransformer::Forward(std::span<const inference::ForwardInput> batch,
                                         std::span<inference::ForwardOutput> outputs) {
  std::vector<inference::ForwardInput> adapted(batch.begin(), batch.end());
  for (inference::ForwardInput& input : adapted) {
    input.adapters = &mix_;
  }
  return inner_.Forward(adapted, outputs);
}

void AdaptedTransformer::Logits(std::span<const inference::LogitsInput> batch,
                                std::span<float> logits) {
  std::vector<inference::LogitsInput> adapted(batch.begin(), batch.end());
  for (inference::LogitsInput& input : adapted) {
    input.adapters = &mix_;
  }
  inner_.Logits(adapted, logits);
}

}  // namespace ruvd::bench
