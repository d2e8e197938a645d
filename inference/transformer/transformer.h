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
  // Activations are float32 and weights are decoded exactly: results are within 1e-6 of a float64
  // computation on the decoded weights. Evaluation and scores use this.
  kExact,
  // Integer kernels, for the formats that have them, on activations rounded to int8 in blocks of 32
  // values: an error of about 1 % per product, and several times faster. The default for serving.
  kFast,
};

// One sequence of a forward pass.
struct ForwardInput {
  std::span<const TokenId> tokens;
  // `window` must be zero: the model decides the sliding window, not the caller.
  Attention attention;
  // Earlier tokens that `tokens` see besides themselves, or null.
  KvCache* cache = nullptr;
  // Whether to keep this call's keys and values in the cache.
  bool extend_cache = false;
  // Null or empty means the base model.
  const AdapterMix* adapters = nullptr;
  // Indices into `tokens` of the rows whose outputs are wanted, in the order of the outputs; if
  // absent, all rows. The last layer computes only what these rows need. If empty, only keys and
  // values are computed.
  std::optional<std::vector<int>> rows = std::nullopt;
  // The position of the first token: -1 means the cache's length; another value must be smaller.
  // The cached keys and values at the positions of `tokens` are replaced during this call, and
  // permanently with `extend_cache`. Cached tokens after them stay visible (the approximate dual
  // cache of Fast-dLLM, arXiv 2505.22618).
  int position = -1;
};

// The outputs of the wanted rows, row by row.
struct ForwardOutput {
  // Final hidden states after the output norm (rows x width), which are the input of the output
  // matrix.
  std::vector<float> hidden;
};

// Final hidden states (rows x width) for which logits are computed.
struct LogitsInput {
  std::span<const float> hidden;
  // A mix that Forward accepted, or null.
  const AdapterMix* adapters = nullptr;
};

// Runs a model. A Backend creates it. It owns the scratch memory of one computation, so it is not
// thread-safe, but it is small enough that each worker can have one. A sequence's results do not
// depend on the other sequences of its batch or on the number of threads, bit for bit.
class Transformer {
 public:
  virtual ~Transformer() = default;

  virtual const std::shared_ptr<const Model>& shared_model() const = 0;
  const Model& model() const { return *shared_model(); }
  virtual Precision precision() const = 0;

  // Runs all sequences of `batch` in one pass over the weights. outputs[i] belongs to batch[i], so
  // both have the same length. Two sequences may use one cache only if neither extends it. After an
  // error every cache is unchanged. Errors: CONTEXT_TOO_LONG; INVALID_ARGUMENT for an empty
  // sequence, a token outside the vocabulary, a row or position that does not exist, or a block
  // attention that does not fit; MODE_UNSUPPORTED for anything but causal attention on a model with
  // a sliding window; ADAPTER_INVALID or WRONG_DIMENSION for a mix that does not fit;
  // KV_BUDGET_EXCEEDED if there are no pages for a cache that must be extended.
  virtual absl::Status Forward(std::span<const ForwardInput> batch,
                               std::span<ForwardOutput> outputs) = 0;
  absl::Status Forward(const ForwardInput& input, ForwardOutput* output) {
    return Forward(std::span(&input, 1), std::span(output, 1));
  }

  // Computes logits (all rows of the batch, one input after the other, x vocabulary): the output
  // matrix applied to the hidden states, plus the change of "output.weight" by each input's
  // adapters.
  virtual void Logits(std::span<const LogitsInput> batch, std::span<float> logits) = 0;
  void Logits(std::span<const float> hidden, const AdapterMix* adapters, std::span<float> logits) {
    const LogitsInput input{.hidden = hidden, .adapters = adapters};
    Logits(std::span(&input, 1), logits);
  }

  // Returns the runner of this transformer's computations. Training may use it between two forward
  // passes.
  virtual ParallelRunner& runner() = 0;
};

// Returns the mean of the final hidden states of `tokens`, or of their last limits::kEmbeddedTokens
// tokens, normalised to length one; its size is the model's width. The attention is the one that
// the model's file asks for (ModelConfig::causal). See also EmbedText of retrieval/whitening.h.
// Errors: CONTEXT_TOO_LONG, and those of Forward.
absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens);

}  // namespace ruvd::inference
