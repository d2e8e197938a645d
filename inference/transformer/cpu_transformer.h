// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>

#include "base/parallel.h"
#include "inference/model/packed_weights.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// The transformer on the processor cores of this machine.
class CpuTransformer final : public Transformer {
 public:
  // Creates a transformer with Precision::kExact. `runner` must outlive it.
  CpuTransformer(std::shared_ptr<const Model> model, ParallelRunner& runner);
  // Creates a transformer with Precision::kFast for the weights' model. `runner` must outlive it.
  CpuTransformer(std::shared_ptr<const PackedWeights> weights, ParallelRunner& runner);
  ~CpuTransformer() override;
  CpuTransformer(const CpuTransformer&) = delete;
  CpuTransformer& operator=(const CpuTransformer&) = delete;

  using Transformer::Forward;
  using Transformer::Logits;

  const std::shared_ptr<const Model>& shared_model() const override { return model_; }
  Precision precision() const override {
    return packed_ == nullptr ? Precision::kExact : Precision::kFast;
  }
  absl::Status Forward(std::span<const ForwardInput> batch,
                       std::span<ForwardOutput> outputs) override;
  void Logits(std::span<const LogitsInput> batch, std::span<float> logits) override;
  ParallelRunner& runner() override { return runner_; }

  // Returns the memory that is kept for activations between calls, in bytes. After a forward of at
  // most limits::kKeptRows tokens it is no more than such forwards take.
  uint64_t activation_bytes() const;

 private:
  struct Pass;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<const PackedWeights> packed_;  // null for kExact
  ParallelRunner& runner_;
  std::unique_ptr<Pass> pass_;
};

}  // namespace ruvd::inference
