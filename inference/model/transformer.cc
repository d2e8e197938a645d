// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/adapter_stack.h"
#include "inference/model/attention.h"
#include "inference/model/linear.h"
#include "inference/model/rope.h"

namespace ruvd {
namespace {

// Rows of element-wise work handed to a thread at a time.
constexpr size_t kRowGrain = 16;

size_t KvWidth(const ModelConfig& config) {
  return static_cast<size_t>(config.kv_heads) * static_cast<size_t>(config.head_size);
}

size_t QWidth(const ModelConfig& config) {
  return static_cast<size_t>(config.heads) * static_cast<size_t>(config.head_size);
}

absl::Status CheckAttention(const ForwardInput& input) {
  const Attention& attention = input.attention;
  const bool blocks = attention.kind == Attention::Kind::kBlockCausal ||
                      attention.kind == Attention::Kind::kNoisyAndClean;
  if (blocks && attention.block_length <= 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "block attention needs a block length above zero, not {}", attention.block_length);
  }
  if (attention.kind == Attention::Kind::kNoisyAndClean &&
      (input.cache != nullptr || input.tokens.size() % 2 != 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "noisy-and-clean attention takes two halves of equal length and no cache");
  }
  return absl::OkStatus();
}

}  // namespace

// The buffers of a forward pass and its steps. Sizes are those of the current call.
struct Transformer::Scratch {
  Scratch(const std::shared_ptr<const Model>& loaded, ParallelRunner& threads)
      : model(*loaded),
        config(loaded->config()),
        runner(threads),
        rope(static_cast<size_t>(config.head_size), static_cast<double>(config.rope_base)),
        adapters(loaded) {}

  absl::Status Check(const ForwardInput& input) const;
  void Prepare(const ForwardInput& input);
  void RunLayer(size_t index, const ForwardInput& input, ForwardOutput* capture);
  void RunAttention(size_t index, const ForwardInput& input);
  void RunFfn(size_t index);

  // normed = rms_norm(x) row by row, or another output.
  void Norm(const std::vector<float>& weight, std::vector<float>* out);
  // out = w in + bias, plus the adapters' change.
  void Apply(size_t layer, Linear linear, const Matrix& w, const std::vector<float>& bias,
             std::span<const float> in, std::span<float> out);
  // x += what.
  void AddResidual(const std::vector<float>& what);
  size_t Position(const ForwardInput& input, size_t row) const {
    return prefix +
           (input.attention.kind == Attention::Kind::kNoisyAndClean ? row % (tokens / 2) : row);
  }

  const Model& model;
  const ModelConfig& config;
  ParallelRunner& runner;
  RopeTable rope;
  AdapterStack adapters;

  size_t tokens = 0;
  size_t prefix = 0;
  std::vector<float> x;       // the residual stream, tokens x width
  std::vector<float> normed;  // tokens x width
  std::vector<float> q, context;
  std::vector<float> keys, values;  // without a cache
  std::vector<float> projected;     // tokens x width
  std::vector<float> gate, up;
  const std::vector<float> no_bias;
};

absl::Status Transformer::Scratch::Check(const ForwardInput& input) const {
  if (input.tokens.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a forward pass needs at least one token");
  }
  RETURN_IF_ERROR(CheckAttention(input));
  for (const TokenId token : input.tokens) {
    if (token >= static_cast<TokenId>(config.vocabulary)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "token {} is outside the vocabulary of {}", token, config.vocabulary);
    }
  }
  size_t length = input.tokens.size();
  if (input.attention.kind == Attention::Kind::kNoisyAndClean) {
    length /= 2;
  }
  if (input.cache != nullptr) {
    RUVD_CHECK(input.cache->layers() == config.layers);
    length += static_cast<size_t>(input.cache->length());
    if (length > static_cast<size_t>(input.cache->capacity())) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                   "{} tokens do not fit the key-value cache of {}", length,
                   input.cache->capacity());
    }
  }
  if (length > static_cast<size_t>(config.context)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} tokens are {} more than the model's context of {}; shorten the text", length,
                 length - static_cast<size_t>(config.context), config.context);
  }
  return absl::OkStatus();
}

void Transformer::Scratch::Prepare(const ForwardInput& input) {
  tokens = input.tokens.size();
  prefix = input.cache == nullptr ? 0 : static_cast<size_t>(input.cache->length());
  const auto width = static_cast<size_t>(config.width);
  x.resize(tokens * width);
  normed.resize(tokens * width);
  projected.resize(tokens * width);
  q.resize(tokens * QWidth(config));
  context.resize(tokens * QWidth(config));
  if (input.cache == nullptr) {
    keys.resize(tokens * KvWidth(config));
    values.resize(tokens * KvWidth(config));
  }
  gate.resize(tokens * static_cast<size_t>(config.ffn));
  up.resize(gate.size());
  rope.Grow(prefix + tokens);
  for (size_t i = 0; i < tokens; ++i) {
    DecodeRow(model.token_embedding(), input.tokens[i], std::span(x).subspan(i * width, width));
  }
}

void Transformer::Scratch::Norm(const std::vector<float>& weight, std::vector<float>* out) {
  const size_t width = weight.size();
  runner.For(tokens, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      Kernels().rms_norm(x.data() + i * width, weight.data(), config.rms_epsilon, width,
                         out->data() + i * width);
    }
  });
}

void Transformer::Scratch::Apply(size_t layer, Linear linear, const Matrix& w,
                                 const std::vector<float>& bias, std::span<const float> in,
                                 std::span<float> out) {
  Multiply(runner, in, w, out);
  adapters.Apply(runner, LinearIndex(layer, linear), in, out);
  if (!bias.empty()) {
    for (size_t i = 0; i < tokens; ++i) {
      Kernels().add(bias.data(), bias.size(), out.data() + i * bias.size());
    }
  }
}

void Transformer::Scratch::AddResidual(const std::vector<float>& what) {
  Kernels().add(what.data(), x.size(), x.data());
}

void Transformer::Scratch::RunAttention(size_t index, const ForwardInput& input) {
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  const size_t kv_width = KvWidth(config);
  float* all_keys = input.cache == nullptr ? keys.data() : input.cache->keys(index);
  float* all_values = input.cache == nullptr ? values.data() : input.cache->values(index);
  const std::span new_keys(all_keys + prefix * kv_width, tokens * kv_width);
  const std::span new_values(all_values + prefix * kv_width, tokens * kv_width);
  Apply(index, Linear::kQ, layer.q, layer.q_bias, normed, q);
  Apply(index, Linear::kK, layer.k, layer.k_bias, normed, new_keys);
  Apply(index, Linear::kV, layer.v, layer.v_bias, normed, new_values);
  const auto heads = static_cast<size_t>(config.heads);
  const auto kv_heads = static_cast<size_t>(config.kv_heads);
  const auto head_size = static_cast<size_t>(config.head_size);
  runner.For(tokens, kRowGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rope.Rotate(Position(input, i), heads, q.data() + i * heads * head_size);
      rope.Rotate(Position(input, i), kv_heads, new_keys.data() + i * kv_width);
    }
  });
  Attend(runner, {.attention = input.attention,
                  .prefix = prefix,
                  .tokens = tokens,
                  .heads = heads,
                  .kv_heads = kv_heads,
                  .head_size = head_size,
                  .q = q.data(),
                  .keys = all_keys,
                  .values = all_values,
                  .context = context.data()});
}

void Transformer::Scratch::RunFfn(size_t index) {
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  Apply(index, Linear::kGate, layer.gate, no_bias, normed, gate);
  Apply(index, Linear::kUp, layer.up, no_bias, normed, up);
  const auto ffn = static_cast<size_t>(config.ffn);
  runner.For(tokens, kRowGrain, [&](size_t begin, size_t end) {
    Kernels().swiglu(gate.data() + begin * ffn, up.data() + begin * ffn, (end - begin) * ffn,
                     gate.data() + begin * ffn);
  });
  Apply(index, Linear::kDown, layer.down, no_bias, gate, projected);
}

void Transformer::Scratch::RunLayer(size_t index, const ForwardInput& input,
                                    ForwardOutput* capture) {
  const LayerWeights& layer = model.layer(static_cast<int>(index));
  Norm(layer.attn_norm, &normed);
  RunAttention(index, input);
  if (capture != nullptr) {
    capture->last_attention = context;
    capture->last_residual = x;
  }
  Apply(index, Linear::kOutput, layer.output, no_bias, context, projected);
  AddResidual(projected);
  Norm(layer.ffn_norm, &normed);
  RunFfn(index);
  AddResidual(projected);
}

Transformer::Transformer(std::shared_ptr<const Model> model, ParallelRunner& runner)
    : model_(std::move(model)),
      runner_(runner),
      scratch_(std::make_unique<Scratch>(model_, runner)) {}

Transformer::~Transformer() = default;

const Model& Transformer::model() const {
  return *model_;
}
std::shared_ptr<const Model> Transformer::shared_model() const {
  return model_;
}

absl::Status Transformer::Forward(const ForwardInput& input, ForwardOutput* output) {
  Scratch& s = *scratch_;
  RETURN_IF_ERROR(s.Check(input));
  RETURN_IF_ERROR(s.adapters.Select(input.adapters));
  s.Prepare(input);
  const auto layers = static_cast<size_t>(s.config.layers);
  for (size_t i = 0; i < layers; ++i) {
    s.RunLayer(i, input, input.capture_last_layer && i + 1 == layers ? output : nullptr);
  }
  output->hidden.resize(s.x.size());
  s.Norm(model_->output_norm(), &output->hidden);
  if (input.cache != nullptr && input.extend_cache) {
    input.cache->Append(static_cast<int>(s.tokens));
  }
  return absl::OkStatus();
}

void Transformer::Logits(std::span<const float> hidden, const AdapterMix* adapters,
                         std::span<float> logits) {
  Multiply(runner_, hidden, model_->output(), logits);
  RUVD_CHECK(scratch_->adapters.Select(adapters).ok());
  scratch_->adapters.Apply(runner_, OutputIndex(model_->config()), hidden, logits);
}

void Transformer::MatMul(std::span<const float> x, const Matrix& w, std::span<float> y) {
  Multiply(runner_, x, w, y);
}

void Transformer::MatMulTransposed(std::span<const float> dy, const Matrix& w,
                                   std::span<float> dx) {
  MultiplyTransposed(runner_, dy, w, dx);
}

absl::StatusOr<std::vector<float>> EmbedTokens(Transformer& transformer,
                                               std::span<const TokenId> tokens) {
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward({.tokens = tokens}, &output));
  const auto width = static_cast<size_t>(transformer.model().config().width);
  std::vector<double> sum(width);
  for (size_t i = 0; i < output.hidden.size(); ++i) {
    sum[i % width] += output.hidden[i];
  }
  double squares = 0;
  for (const double value : sum) {
    squares += value * value;
  }
  if (!(squares > 0) || !std::isfinite(squares)) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "the hidden states of the text have no direction");
  }
  std::vector<float> embedding(width);
  for (size_t i = 0; i < width; ++i) {
    embedding[i] = static_cast<float>(sum[i] / std::sqrt(squares));
  }
  return embedding;
}

}  // namespace ruvd
