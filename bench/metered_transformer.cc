// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/metered_transformer.h"

#include "bench/flops.h"
#include "bench/meter.h"

namespace ruvd::bench {

absl::Status MeteredTransformer::Forward(std::span<const inference::ForwardInput> batch,
                                         std::span<inference::ForwardOutput> outputs) {
  for (const inference::ForwardInput& input : batch) {
    totals_.flops += ForwardFlops(model().config(), input);
    ++totals_.sequences;
  }
  const Meter meter;
  absl::Status status = inner_->Forward(batch, outputs);
  totals_.forward_ms += meter.CpuMs();
  return status;
}

void MeteredTransformer::Logits(std::span<const inference::LogitsInput> batch,
                                std::span<float> logits) {
  const inference::ModelConfig& config = model().config();
  totals_.flops += LogitsFlops(config, static_cast<double>(logits.size()) / config.vocabulary);
  const Meter meter;
  inner_->Logits(batch, logits);
  totals_.logits_ms += meter.CpuMs();
}

}  // namespace ruvd::bench
