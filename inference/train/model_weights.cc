// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/model_weights.h"

#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/model/linear.h"
#include "inference/model/rounded_linear.h"

namespace ruvd::inference::train {
namespace {

// Embedding rows that a thread decodes at a time
constexpr size_t kEmbedGrain = 32;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}", what);
}

absl::Status CheckAttention(const TrainingSequence& sequence) {
  const Attention& attention = sequence.attention;
  const bool blocks = attention.kind == Attention::Kind::kBlockCausal ||
                      attention.kind == Attention::Kind::kNoisyAndClean;
  if (blocks && attention.block_length < 1) {
    return Invalid("block attention needs a block length above zero");
  }
  if (attention.kind == Attention::Kind::kNoisyAndClean && sequence.tokens.size() % 2 != 0) {
    return Invalid("a noisy and clean sequence needs an even number of tokens");
  }
  return absl::OkStatus();
}

absl::Status CheckSequence(const ModelConfig& config, const TrainingSequence& sequence) {
  if (sequence.tokens.empty() || sequence.predictions.empty()) {
    return Invalid("a training sequence needs a token and a prediction");
  }
  if (!(sequence.t >= 0 && sequence.t <= 1)) {
    return Invalid("the masked share t of a training sequence must be 0 to 1");
  }
  RETURN_IF_ERROR(CheckAttention(sequence));
  const bool repeats = sequence.attention.kind == Attention::Kind::kNoisyAndClean;
  const size_t positions = sequence.tokens.size() / (repeats ? 2 : 1);
  if (positions > static_cast<size_t>(config.context)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "a training sequence of {} tokens exceeds the context of {}; shorten it",
                 positions, config.context);
  }
  const auto vocabulary = static_cast<TokenId>(config.vocabulary);
  for (const TokenId token : sequence.tokens) {
    if (token >= vocabulary) {
      return Invalid("a training sequence has a token outside the vocabulary");
    }
  }
  for (const Prediction& prediction : sequence.predictions) {
    if (prediction.row >= sequence.tokens.size() || prediction.target >= vocabulary ||
        !std::isfinite(prediction.weight)) {
      return Invalid(
          "a prediction needs a row of its sequence, a target of the vocabulary and a "
          "finite weight");
    }
  }
  return absl::OkStatus();
}

}  // namespace

ModelWeights::ModelWeights(std::shared_ptr<const Model> model, ParallelRunner& runner,
                           TrainingPrecision precision)
    : model_(std::move(model)),
      runner_(runner),
      precision_(precision),
      shape_(NetworkShape::Of(model_->config())),
      beneath_(shape_.layers * kLayerLinears + 1) {}

absl::StatusOr<std::unique_ptr<ModelWeights>> ModelWeights::Create(
    std::shared_ptr<const Model> model, const AdapterMix* base, ParallelRunner& runner,
    TrainingPrecision precision) {
  auto weights =
      std::unique_ptr<ModelWeights>(new ModelWeights(std::move(model), runner, precision));
  if (base == nullptr) {
    return weights;
  }
  weights->base_ = *base;
  for (const AdapterMix::Part& part : base->parts) {
    RETURN_IF_ERROR(CheckAdapter(*part.adapter, *weights->model_));
    for (const auto& [tensor, change] : part.adapter->targets) {
      ASSIGN_OR_RETURN(const Site site, SiteOf(weights->model_->config(), tensor));
      weights->Beneath(site).push_back(Change<float>({.kind = ChangeKind::kFrozen,
                                                      .rank = static_cast<size_t>(change.rank),
                                                      .in = static_cast<size_t>(change.in),
                                                      .out = static_cast<size_t>(change.out),
                                                      .scale = part.weight * change.scale,
                                                      .down = change.a,
                                                      .up = change.b}));
    }
  }
  return weights;
}

void ModelWeights::Embed(std::span<const TokenId> tokens, std::span<float> x) {
  const size_t width = shape_.width;
  runner_.For(tokens.size(), kEmbedGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      DecodeRow(model_->token_embedding(), tokens[i], x.subspan(i * width, width));
    }
  });
}

const LayerWeights& ModelWeights::layer(size_t index) const {
  return model_->layer(static_cast<int>(index));
}

std::span<const float> ModelWeights::attn_norm(size_t index) const {
  return layer(index).attn_norm;
}

std::span<const float> ModelWeights::ffn_norm(size_t index) const {
  return layer(index).ffn_norm;
}

std::span<const float> ModelWeights::output_norm() const {
  return model_->output_norm();
}

std::span<const float> ModelWeights::q_norm(size_t index) const {
  return layer(index).q_norm;
}

std::span<const float> ModelWeights::k_norm(size_t index) const {
  return layer(index).k_norm;
}

std::span<const float> ModelWeights::Bias(const Site& site) const {
  switch (site.linear) {
    case Linear::kQuery:
      return layer(site.layer).q_bias;
    case Linear::kKey:
      return layer(site.layer).k_bias;
    case Linear::kValue:
      return layer(site.layer).v_bias;
    default:
      return {};
  }
}

const Matrix& ModelWeights::MatrixOf(const Site& site) const {
  if (site.linear == Linear::kHead) {
    return model_->output();
  }
  const LayerWeights& weights = layer(site.layer);
  switch (site.linear) {
    case Linear::kQuery:
      return weights.q;
    case Linear::kKey:
      return weights.k;
    case Linear::kValue:
      return weights.v;
    case Linear::kAttentionOutput:
      return weights.output;
    case Linear::kGate:
      return weights.gate;
    case Linear::kUp:
      return weights.up;
    default:
      return weights.down;
  }
}

bool ModelWeights::Rounds(const Matrix& w) const {
  return precision_ == TrainingPrecision::kMixed && gradients_ && HasRoundedProducts(w);
}

void ModelWeights::Multiply(const Site& site, std::span<const float> x, std::span<float> y) {
  const Matrix& w = MatrixOf(site);
  if (Rounds(w)) {
    MultiplyRounded(runner_, x, w, y, &rounded_);
  } else {
    ruvd::inference::Multiply(runner_, x, w, y);
  }
  for (Change<float>& change : Beneath(site)) {
    z_.resize(x.size() / change.spec().in * change.spec().rank);
    change.Forward(runner_, {}, x, z_, y);
  }
}

void ModelWeights::MultiplyTransposed(const Site& site, std::span<const float> dy,
                                      std::span<float> dx, bool accumulate) {
  const Matrix& w = MatrixOf(site);
  if (Rounds(w)) {
    MultiplyTransposedRounded(runner_, dy, w, dx, accumulate, &rounded_);
  } else {
    ruvd::inference::MultiplyTransposed(runner_, dy, w, dx, accumulate);
  }
  for (Change<float>& change : Beneath(site)) {
    z_.resize(dy.size() / change.spec().out * change.spec().rank);
    change.Backward(runner_, {}, {}, z_, dy, {}, dx);
  }
}

absl::Status CheckSequences(const ModelConfig& config, std::span<const TrainingSequence> batch) {
  if (batch.empty()) {
    return Invalid("a batch needs a sequence");
  }
  for (const TrainingSequence& sequence : batch) {
    RETURN_IF_ERROR(CheckSequence(config, sequence));
    if (config.sliding_window > 0 && sequence.attention.kind != Attention::Kind::kCausal) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kModeUnsupported,
                   "a model with a sliding window trains with causal attention only");
    }
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference::train
