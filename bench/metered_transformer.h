// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <utility>

#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// Another transformer whose inputs are counted and whose forwards are timed.
class MeteredTransformer final : public inference::Transformer {
 public:
  struct Totals {
    double flops = 0;       // as in bench/flops.h
    double sequences = 0;   // evaluated by forwards
    double forward_ms = 0;  // CPU time, as the next
    double logits_ms = 0;
  };

  explicit MeteredTransformer(std::unique_ptr<inference::Transformer> inner)
      : inner_(std::move(inner)) {}

  const Totals& totals() const { return totals_; }
  void Reset() { totals_ = {}; }
  // Forgets what was counted since `totals` was read.
  void Restore(const Totals& totals) { totals_ = totals; }

  const std::shared_ptr<const inference::Model>& shared_model() const override {
    return inner_->shared_model();
  }
  inference::Precision precision() const override { return inner_->precision(); }
  using inference::Transformer::Forward;
  using inference::Transformer::Logits;
  absl::Status Forward(std::span<const inference::ForwardInput> batch,
                       std::span<inference::ForwardOutput> outputs) override;
  void Logits(std::span<const inference::LogitsInput> batch, std::span<float> logits) override;
  ParallelRunner& runner() override { return inner_->runner(); }

 private:
  std::unique_ptr<inference::Transformer> inner_;
  Totals totals_;
};

}  // namespace ruvd::bench
