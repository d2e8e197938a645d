// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "inference/adapter/adapter.h"
#include "inference/cache/kv_cache.h"
#include "inference/model/attention.h"
#include "inference/model/model.h"

namespace ruvd {

struct ForwardInput {
  std::span<const TokenId> tokens;
  Attention attention;
  // Prefix that every token sees, or null. Positions of `tokens` follow it.
  KvCache* cache = nullptr;
  // Appends this call's keys and values to the cache.
  bool extend_cache = false;
  // Null or empty: the base model.
  const AdapterMix* adapters = nullptr;
  // Also returns what the last layer's tail is computed from, for training and retrieval.
  bool capture_last_layer = false;
};

struct ForwardOutput {
  // Final hidden states after the output norm, tokens x width: what the output matrix is applied
  // to.
  std::vector<float> hidden;
  // With capture_last_layer: the concatenated heads of the last layer (tokens x heads*head_size),
  // the input of its attn_output matrix; and the residual stream before attn_output is added
  // (tokens x width). All that follows is row by row: h1 = residual + Wo ctx; h2 = h1 +
  // FFN(norm(h1)); hidden = norm(h2).
  std::vector<float> last_attention;
  std::vector<float> last_residual;
};

// Runs a model. Owns the scratch memory of one computation: not thread-safe, cheap enough to have
// one per worker. Activations are float32 throughout, so results equal a float32 computation on the
// dequantised weights.
class Transformer {
 public:
  // `runner` is borrowed and must outlive this.
  Transformer(std::shared_ptr<const Model> model, ParallelRunner& runner);
  ~Transformer();
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  const Model& model() const;
  std::shared_ptr<const Model> shared_model() const;

  // Errors: CONTEXT_TOO_LONG; INVALID_ARGUMENT for no token, one outside the vocabulary or a block
  // attention that does not fit; ADAPTER_INVALID, WRONG_DIMENSION for a mix that does not fit.
  absl::Status Forward(const ForwardInput& input, ForwardOutput* output);

  // logits (rows x vocabulary) = output matrix applied to `hidden` (rows x width), plus the change
  // of "output.weight" by `adapters`, which must be a mix that Forward accepted, or null.
  void Logits(std::span<const float> hidden, const AdapterMix* adapters, std::span<float> logits);

  // y (rows x w.rows) = x (rows x w.columns) times w transposed; threads by the runner.
  void MatMul(std::span<const float> x, const Matrix& w, std::span<float> y);
  // dx (rows x w.columns) = dy (rows x w.rows) times w: the backward pass of MatMul.
  void MatMulTransposed(std::span<const float> dy, const Matrix& w, std::span<float> dx);

 private:
  struct Scratch;
  std::shared_ptr<const Model> model_;
  ParallelRunner& runner_;
  std::unique_ptr<Scratch> scratch_;
};

// Mean over the tokens of the final hidden states of `tokens` (bidirectional attention), normalised
// to length one: the embedding that patterns are stored and searched by. Size: width.
absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens);

}  // namespace ruvd
