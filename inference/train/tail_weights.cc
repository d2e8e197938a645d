// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/tail_weights.h"

#include <algorithm>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::train {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"attn_output", "ffn_gate", "ffn_up", "ffn_down",
                                                    "output"};

}  // namespace

std::string TailTensor(const Model& model, TailLinear linear) {
  return linear == TailLinear::kHead ? std::string("output.weight")
                                     : LastLayerTensor(model, kNames[static_cast<size_t>(linear)]);
}

absl::StatusOr<TailLinear> TailLinearFromName(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot train {}; choose attn_output, ffn_gate, ffn_up, ffn_down or output", name);
  }
  return static_cast<TailLinear>(found - kNames.begin());
}

ModelTail::ModelTail(Transformer& transformer, const AdapterMix* base) : transformer_(transformer) {
  const Model& model = transformer.model();
  const ModelConfig& config = model.config();
  shape_ = {.attention = static_cast<size_t>(config.heads) * static_cast<size_t>(config.head_size),
            .width = static_cast<size_t>(config.width),
            .ffn = static_cast<size_t>(config.ffn),
            .vocabulary = static_cast<size_t>(config.vocabulary),
            .epsilon = config.rms_epsilon};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string name = TailTensor(model, static_cast<TailLinear>(i));
    layers_[i].matrix = FindMatrix(model, name);
    for (const AdapterMix::Part& part : base == nullptr ? AdapterMix().parts : base->parts) {
      if (const auto found = part.adapter->targets.find(name);
          found != part.adapter->targets.end()) {
        layers_[i].base.emplace_back(&found->second, part.weight * found->second.scale);
      }
    }
  }
}

std::span<const float> ModelTail::ffn_norm() const {
  const Model& model = transformer_.model();
  return model.layer(model.config().layers - 1).ffn_norm;
}

std::span<const float> ModelTail::output_norm() const {
  return transformer_.model().output_norm();
}

void ModelTail::Multiply(TailLinear linear, std::span<const float> x, std::span<float> y) {
  const Layer& self = layer(linear);
  transformer_.MatMul(x, *self.matrix, y);
  const size_t in = shape_.In(linear);
  const size_t out = shape_.Out(linear);
  for (const auto& [change, weight] : self.base) {
    std::vector<float> z(static_cast<size_t>(change->rank));
    for (size_t row = 0; row * in < x.size(); ++row) {
      std::fill(z.begin(), z.end(), 0.0F);
      AddMatVec<float>(change->a, x.subspan(row * in, in), 1.0F, z);
      AddMatVec<float>(change->b, z, weight, y.subspan(row * out, out));
    }
  }
}

void ModelTail::MultiplyTransposed(TailLinear linear, std::span<const float> dy,
                                   std::span<float> dx) {
  const Layer& self = layer(linear);
  transformer_.MatMulTransposed(dy, *self.matrix, dx);
  const size_t in = shape_.In(linear);
  const size_t out = shape_.Out(linear);
  for (const auto& [change, weight] : self.base) {
    std::vector<float> dz(static_cast<size_t>(change->rank));
    for (size_t row = 0; row * out < dy.size(); ++row) {
      std::fill(dz.begin(), dz.end(), 0.0F);
      AddMatVecTransposed<float>(change->b, dy.subspan(row * out, out), weight, dz);
      AddMatVecTransposed<float>(change->a, dz, 1.0F, dx.subspan(row * in, in));
    }
  }
}

absl::Status AppendRows(Transformer& transformer, const TrainingExample& example,
                        const MaskDraw& draw, const AdapterMix* base, float weight,
                        TailRows<float>* rows) {
  const Model& model = transformer.model();
  std::vector<TokenId> tokens = example.prompt;
  tokens.insert(tokens.end(), example.completion.begin(), example.completion.end());
  for (const int offset : draw.positions) {
    tokens[example.prompt.size() + static_cast<size_t>(offset)] = *model.tokenizer().mask_id();
  }
  std::vector<int> wanted;
  for (const int offset : draw.positions) {
    const int position = static_cast<int>(example.prompt.size()) + offset;
    wanted.push_back(PredictingRow(position, model.config().shift_logits));
    rows->targets.push_back(example.completion[static_cast<size_t>(offset)]);
    rows->weights.push_back(weight);
  }
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(
      {.tokens = tokens, .adapters = base, .capture_last_layer = true, .rows = std::move(wanted)},
      &output));
  rows->attention.insert(rows->attention.end(), output.last_attention.begin(),
                         output.last_attention.end());
  rows->residual.insert(rows->residual.end(), output.last_residual.begin(),
                        output.last_residual.end());
  return absl::OkStatus();
}

}  // namespace ruvd::train
