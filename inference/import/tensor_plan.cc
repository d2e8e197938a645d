// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/tensor_plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

// The names of a network's tensors. Names of a layer follow the layer's prefix.
struct Names {
  const char* embedding;
  const char* norm;
  const char* head;
  const char* layer_prefix;
  const char* attn_norm;
  const char* q;
  const char* k;
  const char* v;
  const char* attn_output;
  const char* ffn_norm;
  const char* gate;
  const char* up;
  const char* down;
};
constexpr Names kTransformersNames = {
    .embedding = "model.embed_tokens.weight",
    .norm = "model.norm.weight",
    .head = "lm_head.weight",
    .layer_prefix = "model.layers.",
    .attn_norm = "input_layernorm",
    .q = "self_attn.q_proj",
    .k = "self_attn.k_proj",
    .v = "self_attn.v_proj",
    .attn_output = "self_attn.o_proj",
    .ffn_norm = "post_attention_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .down = "mlp.down_proj",
};
constexpr Names kLladaNames = {
    .embedding = "model.transformer.wte.weight",
    .norm = "model.transformer.ln_f.weight",
    .head = "model.transformer.ff_out.weight",
    .layer_prefix = "model.transformer.blocks.",
    .attn_norm = "attn_norm",
    .q = "q_proj",
    .k = "k_proj",
    .v = "v_proj",
    .attn_output = "attn_out",
    .ffn_norm = "ff_norm",
    .gate = "ff_proj",
    .up = "up_proj",
    .down = "ff_out",
};

bool PairsAreAdjacent(const std::string& architecture) {
  return architecture == "llada" || architecture == "llama";
}

// Returns the numbers by which Llama 3.1 divides the frequency of each rotated pair: 1 for short
// wavelengths, the factor for long ones, and a blend between them (Transformers' rope_type
// "llama3").
std::vector<float> Llama3Divisors(const HfConfig& config) {
  const HfRopeScaling& scaling = config.rope_scaling;
  const auto context = static_cast<double>(scaling.original_context);
  std::vector<float> divisors;
  for (uint64_t i = 0; i < config.head_size / 2; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(config.head_size);
    const double wavelength = 2 * std::numbers::pi * std::pow(config.rope_base, exponent);
    const double turns = context / wavelength;  // turns of the pair over the original context
    const double share =
        (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    const double blend = std::clamp(share, 0.0, 1.0);
    divisors.push_back(static_cast<float>(1 / ((1 - blend) / scaling.factor + blend)));
  }
  return divisors;
}

class Planner {
 public:
  Planner(const HfConfig& config, const std::string& architecture, const QuantizationScheme& scheme,
          const HfWeights& weights)
      : config_(config),
        names_(config.llada_names ? kLladaNames : kTransformersNames),
        architecture_(architecture),
        scheme_(scheme),
        weights_(weights) {}

  absl::StatusOr<std::vector<ImportedTensor>> Plan() {
    outline_ = {.layers = config_.layers, .has_output = HasOwnHead()};
    RETURN_IF_ERROR(
        Matrix(names_.embedding, "token_embd.weight", config_.vocabulary, config_.width));
    for (uint64_t layer = 0; layer < config_.layers; ++layer) {
      RETURN_IF_ERROR(Layer(layer));
    }
    RETURN_IF_ERROR(Vector(names_.norm, "output_norm.weight", config_.width));
    if (outline_.has_output) {
      RETURN_IF_ERROR(Matrix(names_.head, "output.weight", config_.vocabulary, config_.width));
    }
    if (config_.rope_scaling.kind == HfRopeScaling::Kind::kLlama3) {
      plan_.push_back({.name = "rope_freqs.weight",
                       .computed = Llama3Divisors(config_),
                       .shape = {config_.head_size / 2}});
    }
    RETURN_IF_ERROR(CheckNothingIsLeft());
    return std::move(plan_);
  }

 private:
  // Returns whether the output matrix is a tensor of its own. Files of tied networks may contain it
  // as a redundant copy of the embedding.
  bool HasOwnHead() {
    if (!config_.tied) {
      return true;
    }
    const auto head = weights_.tensors.find(names_.head);
    const auto embedding = weights_.tensors.find(names_.embedding);
    if (head == weights_.tensors.end() || embedding == weights_.tensors.end()) {
      return false;
    }
    const bool same = head->second.type == embedding->second.type &&
                      std::ranges::equal(head->second.bytes, embedding->second.bytes);
    if (same) {
      taken_.insert(names_.head);
    }
    return !same;
  }

  absl::Status Layer(uint64_t layer) {
    const std::string from = fmt::format("{}{}.", names_.layer_prefix, layer);
    const std::string to = fmt::format("blk.{}.", layer);
    const uint64_t q_rows = config_.heads * config_.head_size;
    const uint64_t kv_rows = config_.kv_heads * config_.head_size;
    const uint64_t permuted = PairsAreAdjacent(architecture_) ? config_.head_size : 0;
    RETURN_IF_ERROR(
        Vector(from + names_.attn_norm + ".weight", to + "attn_norm.weight", config_.width));
    RETURN_IF_ERROR(Projection(from + names_.q, to + "attn_q", q_rows, permuted));
    RETURN_IF_ERROR(Projection(from + names_.k, to + "attn_k", kv_rows, permuted));
    RETURN_IF_ERROR(Projection(from + names_.v, to + "attn_v", kv_rows, 0));
    if (architecture_ == "qwen3") {
      for (const char* part : {"q", "k"}) {
        RETURN_IF_ERROR(Vector(fmt::format("{}self_attn.{}_norm.weight", from, part),
                               fmt::format("{}attn_{}_norm.weight", to, part), config_.head_size));
      }
    }
    RETURN_IF_ERROR(Matrix(from + names_.attn_output + ".weight", to + "attn_output.weight",
                           config_.width, q_rows));
    RETURN_IF_ERROR(
        Vector(from + names_.ffn_norm + ".weight", to + "ffn_norm.weight", config_.width));
    RETURN_IF_ERROR(
        Matrix(from + names_.gate + ".weight", to + "ffn_gate.weight", config_.ffn, config_.width));
    RETURN_IF_ERROR(
        Matrix(from + names_.up + ".weight", to + "ffn_up.weight", config_.ffn, config_.width));
    taken_.insert(from + "self_attn.rotary_emb.inv_freq");  // redundant: rope_theta determines it
    return Matrix(from + names_.down + ".weight", to + "ffn_down.weight", config_.width,
                  config_.ffn);
  }

  absl::Status Projection(const std::string& from, const std::string& to, uint64_t rows,
                          uint64_t permuted_head) {
    RETURN_IF_ERROR(Matrix(from + ".weight", to + ".weight", rows, config_.width));
    plan_.back().permuted_head = permuted_head;
    if (weights_.tensors.contains(from + ".bias")) {
      RETURN_IF_ERROR(Vector(from + ".bias", to + ".bias", rows));
      plan_.back().permuted_head = permuted_head;
    }
    return absl::OkStatus();
  }

  absl::Status Matrix(const std::string& from, const std::string& to, uint64_t rows,
                      uint64_t columns) {
    return Place(from, to, {rows, columns},
                 FittingType(WantedType(scheme_, to, outline_), columns));
  }
  absl::Status Vector(const std::string& from, const std::string& to, uint64_t length) {
    return Place(from, to, {length}, TensorType::kF32);
  }

  absl::Status Place(const std::string& from, const std::string& to,
                     const std::vector<uint64_t>& shape, TensorType type) {
    const auto found = weights_.tensors.find(from);
    if (found == weights_.tensors.end()) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "model.safetensors: tensor {} is missing; obtain the file again", from);
    }
    if (found->second.shape != shape) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "model.safetensors: tensor {} has the shape [{}], but config.json requires [{}]",
                   from, fmt::join(found->second.shape, ", "), fmt::join(shape, ", "));
    }
    taken_.insert(from);
    plan_.push_back({.name = to,
                     .source = &found->second,
                     .shape = {shape.rbegin(), shape.rend()},
                     .type = type});
    return absl::OkStatus();
  }

  // Checks that every tensor of the source is used.
  absl::Status CheckNothingIsLeft() const {
    for (const auto& [name, tensor] : weights_.tensors) {
      if (!taken_.contains(name)) {
        return Error(
            absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
            "model.safetensors: tensor {} is not part of a {} network as this build knows it",
            name.substr(0, 128), architecture_);
      }
    }
    return absl::OkStatus();
  }

  const HfConfig& config_;
  const Names& names_;
  const std::string& architecture_;
  const QuantizationScheme& scheme_;
  const HfWeights& weights_;
  ModelOutline outline_;
  std::set<std::string> taken_;
  std::vector<ImportedTensor> plan_;
};

}  // namespace

uint64_t ImportedTensor::SourceRow(uint64_t row) const {
  if (permuted_head == 0) {
    return row;
  }
  const uint64_t within = row % permuted_head;
  return row - within + within / 2 + (within % 2) * (permuted_head / 2);
}

absl::StatusOr<std::vector<ImportedTensor>> PlanTensors(const HfConfig& config,
                                                        const std::string& architecture,
                                                        const QuantizationScheme& scheme,
                                                        const HfWeights& weights) {
  return Planner(config, architecture, scheme, weights).Plan();
}

}  // namespace ruvd::inference
