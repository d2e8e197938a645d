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
#include "inference/cache/kv_cache.h"
#include "inference/model/model.h"
#include "inference/transformer/attention.h"

namespace ruvd::inference {

// How a transformer computes its products with weight matrices.
enum class Precision : uint8_t {
  // Activations float32, weights decoded exactly: within 1e-6 of a float64 computation on the
  // decoded weights. Training, evaluation and scores use it.
  kExact,
  // Integer kernels on activations rounded to int8 per 32 values where the format has them: some
  // 1 % off per product and several times faster. The default for serving.
  kFast,
};

// One sequence of a forward pass.
struct ForwardInput {
  std::span<const TokenId> tokens;
  // With its window left at zero: a sliding window is the model's, not the caller's.
  Attention attention;
  // Tokens that `tokens` see besides themselves, or null.
  KvCache* cache = nullptr;
  // Keeps this call's keys and values in the cache.
  bool extend_cache = false;
  // Null or empty: the base model.
  const AdapterMix* adapters = nullptr;
  // Indices into `tokens` whose outputs are wanted, in the order of the outputs; absent: all of
  // them. The last layer computes only what they need. Empty: only keys and values are wanted.
  std::optional<std::vector<int>> rows = std::nullopt;
  // Position of the first token: -1 for the cache's length, or a smaller one. The cached keys and
  // values of those positions are replaced during this call, and for good with `extend_cache`;
  // cached tokens behind them stay visible (the approximate dual cache of Fast-dLLM, arXiv
  // 2505.22618).
  int position = -1;
};

// Row by row of the wanted tokens.
struct ForwardOutput {
  // Final hidden states after the output norm, rows x width: what the output matrix is applied to.
  std::vector<float> hidden;
};

// Final hidden states (rows x width) whose logits are wanted.
struct LogitsInput {
  std::span<const float> hidden;
  // A mix that Forward accepted, or null.
  const AdapterMix* adapters = nullptr;
};

// Runs a model: made by a Backend. Owns the scratch memory of one computation: not thread-safe,
// cheap enough to have one per worker. A sequence's results do not depend on the other sequences of
// its batch, nor on the number of threads, bit for bit.
class Transformer {
 public:
  virtual ~Transformer() = default;

  virtual const std::shared_ptr<const Model>& shared_model() const = 0;
  const Model& model() const { return *shared_model(); }
  virtual Precision precision() const = 0;

  // Runs all sequences of `batch` in one pass over the weights; outputs[i] belongs to batch[i], so
  // both have the same length. Two sequences with one cache are allowed only if neither extends it.
  // Errors leave every cache as it was: CONTEXT_TOO_LONG; INVALID_ARGUMENT for no token, one
  // outside the vocabulary, a row or position that does not exist, or a block attention that does
  // not fit; MODE_UNSUPPORTED for anything but causal attention on a model with a sliding window;
  // ADAPTER_INVALID, WRONG_DIMENSION for a mix that does not fit; KV_BUDGET_EXCEEDED where a cache
  // that is to be extended gets no pages.
  virtual absl::Status Forward(std::span<const ForwardInput> batch,
                               std::span<ForwardOutput> outputs) = 0;
  absl::Status Forward(const ForwardInput& input, ForwardOutput* output) {
    return Forward(std::span(&input, 1), std::span(output, 1));
  }

  // logits (all rows of the batch, one input after the other, x vocabulary) = output matrix applied
  // to the hidden states, plus the change of "output.weight" by each input's adapters.
  virtual void Logits(std::span<const LogitsInput> batch, std::span<float> logits) = 0;
  void Logits(std::span<const float> hidden, const AdapterMix* adapters, std::span<float> logits) {
    const LogitsInput input{.hidden = hidden, .adapters = adapters};
    Logits(std::span(&input, 1), logits);
  }

  // What it computes on; training between two forwards may use it, too.
  virtual ParallelRunner& runner() = 0;
};

// Mean over the tokens of the final hidden states of `tokens`, or of the last
// limits::kEmbeddedTokens of them, normalised to length one. Attention as the model's file asks for
// (ModelConfig::causal). Size: width. See also EmbedText of retrieval/whitening.h. Errors:
// CONTEXT_TOO_LONG, and those of Forward.
absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens);

}  // namespace ruvd::inference
