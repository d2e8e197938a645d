// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/adapter/adapter.h"
#include "inference/kernels/aligned_buffer.h"
#include "inference/train/change.h"
#include "inference/train/network.h"

namespace ruvd::inference::train {

// How training computes products with the model's matrices.
enum class TrainingPrecision : uint8_t {
  kFloat32,
  // In passes with gradients, factors are rounded to bfloat16 where this machine has faster
  // products of them (AMX), as is usual on accelerators; sums and everything else stay in float32.
  // Losses are measured as with kFloat32.
  kMixed,
};

// The weights of a loaded model with the adapters beneath the trained changes. Matrices stay in the
// format of the file: a panel is decoded when it is multiplied, which costs less than 2 % of a
// product with 128 rows. The decoding is exact for every format. Not thread-safe.
class ModelWeights final : public NetworkWeights<float> {
 public:
  // Borrows `runner`. `base` may be null. Returns ADAPTER_INVALID if `base` does not fit the model.
  static absl::StatusOr<std::unique_ptr<ModelWeights>> Create(
      std::shared_ptr<const Model> model, const AdapterMix* base, ParallelRunner& runner,
      TrainingPrecision precision = TrainingPrecision::kFloat32);

  const NetworkShape& shape() const override { return shape_; }
  void Embed(std::span<const TokenId> tokens, std::span<float> x) override;
  std::span<const float> attn_norm(size_t layer) const override;
  std::span<const float> ffn_norm(size_t layer) const override;
  std::span<const float> output_norm() const override;
  std::span<const float> q_norm(size_t layer) const override;
  std::span<const float> k_norm(size_t layer) const override;
  std::span<const float> Bias(const Site& site) const override;
  void Multiply(const Site& site, std::span<const float> x, std::span<float> y) override;
  void MultiplyTransposed(const Site& site, std::span<const float> dy, std::span<float> dx,
                          bool accumulate) override;
  void SetPurpose(bool gradients) override { gradients_ = gradients; }
  uint64_t scratch_bytes() const override {
    return z_.capacity() * sizeof(float) + rounded_.size();
  }

 private:
  ModelWeights(std::shared_ptr<const Model> model, ParallelRunner& runner,
               TrainingPrecision precision);
  bool Rounds(const Matrix& w) const;
  const Matrix& MatrixOf(const Site& site) const;
  const LayerWeights& layer(size_t index) const;
  std::vector<Change<float>>& Beneath(const Site& site) {
    return beneath_[site.layer * kLayerLinears + static_cast<size_t>(site.linear) % kLayerLinears];
  }

  std::shared_ptr<const Model> model_;
  ParallelRunner& runner_;
  const TrainingPrecision precision_;
  bool gradients_ = false;
  NetworkShape shape_;
  AdapterMix base_;                                  // keeps the adapters alive
  std::vector<std::vector<Change<float>>> beneath_;  // by site
  std::vector<float> z_;
  AlignedBuffer rounded_;
};

// Checks sequences that come from outside. INVALID_ARGUMENT if there are no sequences, for a
// sequence without tokens or predictions, for a token, target or row that does not exist, a weight
// that is not finite, a t outside 0 to 1, or an attention that does not fit; CONTEXT_TOO_LONG.
absl::Status CheckSequences(const ModelConfig& config, std::span<const TrainingSequence> batch);

}  // namespace ruvd::inference::train
