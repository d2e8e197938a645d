// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/model/transformer.h"
#include "inference/train/masks.h"
#include "inference/train/tail.h"

namespace ruvd::train {

// The last layer of a loaded model with the adapters beneath the trained one. Borrows both.
class ModelTail final : public TailWeights<float> {
 public:
  ModelTail(Transformer& transformer, const AdapterMix* base);

  const TailShape& shape() const override { return shape_; }
  std::span<const float> ffn_norm() const override;
  std::span<const float> output_norm() const override;
  void Multiply(TailLinear linear, std::span<const float> x, std::span<float> y) override;
  void MultiplyTransposed(TailLinear linear, std::span<const float> dy,
                          std::span<float> dx) override;

 private:
  struct Layer {
    const Matrix* matrix = nullptr;
    std::vector<std::pair<const LowRank*, float>> base;  // with weight times scale
  };
  Layer& layer(TailLinear linear) { return layers_[static_cast<size_t>(linear)]; }

  Transformer& transformer_;
  TailShape shape_;
  std::array<Layer, 5> layers_;
};

// The tensor name of a tail layer in this model, e.g. "blk.7.attn_output.weight".
std::string TailTensor(const Model& model, TailLinear linear);

// The tail layer called "attn_output", "ffn_gate", "ffn_up", "ffn_down" or "output".
absl::StatusOr<TailLinear> TailLinearFromName(std::string_view name);

// Runs the corrupted example through the model (with `base`) and appends the rows that predict its
// masked tokens, each with `weight`.
absl::Status AppendRows(Transformer& transformer, const TrainingExample& example,
                        const MaskDraw& draw, const AdapterMix* base, float weight,
                        TailRows<float>* rows);

}  // namespace ruvd::train
