// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/model/model.h"
#include "inference/transformer/attention.h"

// What training needs to know of a transformer: its shape, its frozen weights, and where changes
// may be placed. All of it is generic over the float type T: training runs in float, the gradient
// tests in double.
namespace ruvd::inference::train {

// The linear layers of a transformer in the order of execution; the last one follows all layers.
enum class Linear : uint8_t { kQuery, kKey, kValue, kAttentionOutput, kGate, kUp, kDown, kHead };
inline constexpr size_t kLayerLinears = 7;

// One linear layer of a model. For the head, `layer` is the number of layers, so that sites are
// sorted in the order of execution.
struct Site {
  size_t layer = 0;
  Linear linear = Linear::kQuery;
  auto operator<=>(const Site&) const = default;
};

// Returns the part of the tensor's name: "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate",
// "ffn_up", "ffn_down" or "output".
std::string_view LinearName(Linear linear);
// Returns the name of the weight matrix in the file, e.g. "blk.7.attn_output.weight" or
// "output.weight".
std::string TensorOf(const Site& site);
// Returns the site of that tensor; INVALID_ARGUMENT, which lists the possible names, for any other
// name.
absl::StatusOr<Site> SiteOf(const ModelConfig& config, std::string_view tensor);
// Returns every linear layer from layer `first` on, in the order of execution; with `head` also the
// output matrix.
std::vector<Site> SitesFrom(const ModelConfig& config, size_t first, bool head);

struct NetworkShape {
  size_t layers = 0;
  size_t width = 0;
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t head_size = 0;
  size_t ffn = 0;
  size_t vocabulary = 0;
  double epsilon = 0;                    // of RMSNorm
  std::vector<double> rope_frequencies;  // of the rotated pairs, as RopeFrequencies gives them
  double rope_magnitude = 1;
  size_t sliding_window = 0;   // of causal attention; 0: all tokens before
  bool rope_adjacent = false;  // pairs (2i, 2i + 1) instead of half the rotated values apart

  static NetworkShape Of(const ModelConfig& config);
  size_t q_width() const { return heads * head_size; }
  size_t kv_width() const { return kv_heads * head_size; }
  size_t In(Linear linear) const;
  size_t Out(Linear linear) const;
  bool Has(const Site& site) const {
    return site.linear == Linear::kHead ? site.layer == layers : site.layer < layers;
  }
};

// The frozen weights, quantised or not, with the adapters that are active beneath the trained
// changes. A vector is empty if the model does not have it. Not thread-safe.
template <typename T>
class NetworkWeights {
 public:
  virtual ~NetworkWeights() = default;
  virtual const NetworkShape& shape() const = 0;
  // Sets x (tokens x width) to the rows of the token embedding.
  virtual void Embed(std::span<const TokenId> tokens, std::span<T> x) = 0;
  virtual std::span<const T> attn_norm(size_t layer) const = 0;
  virtual std::span<const T> ffn_norm(size_t layer) const = 0;
  virtual std::span<const T> output_norm() const = 0;
  // Return the norms of each head's query or key before RoPE, head_size long (Qwen3).
  virtual std::span<const T> q_norm(size_t layer) const = 0;
  virtual std::span<const T> k_norm(size_t layer) const = 0;
  // Returns the bias of kQuery, kKey or kValue.
  virtual std::span<const T> Bias(const Site& site) const = 0;
  // Computes y (rows x Out) = x (rows x In) W^T.
  virtual void Multiply(const Site& site, std::span<const T> x, std::span<T> y) = 0;
  // Computes dx (rows x In) = dy (rows x Out) W; with `accumulate` it is added to dx.
  virtual void MultiplyTransposed(const Site& site, std::span<const T> dy, std::span<T> dx,
                                  bool accumulate) = 0;
  // The next products belong to a pass with gradients, or to one that only measures losses, which
  // must be exact.
  virtual void SetPurpose(bool /*gradients*/) {}
  // Returns the memory for products beside the weights, in bytes.
  virtual uint64_t scratch_bytes() const { return 0; }
};

// A row whose logits predict a token, and the weight of its cross-entropy in the loss.
struct Prediction {
  uint32_t row = 0;  // index into the sequence's tokens
  TokenId target = 0;
  double weight = 1;
};

// One sequence of a batch. Sequences are packed one after the other, without padding.
struct TrainingSequence {
  std::vector<TokenId> tokens;  // as the network reads them: corrupted, or [x_t ; x_0]
  Attention attention;          // its window is zero, because a sliding window belongs to the model
  std::vector<Prediction> predictions;
  // If true, the loss of each prediction is KL(frozen network || network with changes) at its row,
  // in nats, instead of the cross-entropy of its target
  bool follows_frozen = false;
  // Masked share of the active window, 0 <= t <= 1, which decides the active timestep banks; 1 for
  // next-token sequences
  double t = 1;
  // The factor, above 0, that scaled this sequence's loss for its part of the step's loss: the
  // gradient of its own loss is the gradient of its part divided by this factor
  double share = 1;
};

// Observes the inputs and output gradients of linear layers, for statistics such as the covariances
// that a frame is made of. Arguments are borrowed for the call. Rows belong to one or more
// sequences in their order, and a layer may be observed several times per batch, each time with
// other rows.
template <typename T>
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  // `x` is rows x In, the input activations. `dy` is rows x Out, the derivative of the loss (the
  // sum over the batch of weight times cross-entropy) by the layer's output. In the last layer,
  // rows that the loss does not depend on are left out. Called on the thread that runs the pass.
  virtual void Observe(const Site& site, size_t rows, std::span<const T> x,
                       std::span<const T> dy) = 0;
};

}  // namespace ruvd::inference::train
