// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/model.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/finite.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "inference/model/config.h"
#include "inference/model/config_keys.h"
#include "inference/model/linear.h"

namespace ruvd::inference {
namespace {

// Tensors that llama.cpp loads for these architectures but never uses. The entry is a whole name or
// the end of a name within a block.
struct Ignored {
  std::string_view name;
  Architecture architecture;
  bool in_block = false;
};
constexpr Ignored kIgnored[] = {
    {"output.bias", Architecture::kDream},
    {"rope_freqs.weight", Architecture::kLlada},
    {"attn_output.bias", Architecture::kLlada, true},
    {"ffn_gate.bias", Architecture::kLlada, true},
    {"ffn_up.bias", Architecture::kLlada, true},
    {"ffn_down.bias", Architecture::kLlada, true},
};

// Returns whether `name` is "blk.N.<part>" with N below `layers`.
bool IsBlockTensor(std::string_view name, std::string_view part, int layers) {
  for (int i = 0; i < layers; ++i) {
    if (name == fmt::format("blk.{}.{}", i, part)) {
      return true;
    }
  }
  return false;
}

bool IsIgnored(std::string_view name, const ModelConfig& config) {
  return std::ranges::any_of(kIgnored, [&](const Ignored& ignored) {
    return ignored.architecture == config.architecture &&
           (ignored.in_block ? IsBlockTensor(name, ignored.name, config.layers)
                             : name == ignored.name);
  });
}

struct Weights {
  std::vector<LayerWeights> layers;
  Matrix token_embedding;
  Matrix output;
  std::vector<float> output_norm;
};

// Takes tensors from a file by name, and checks each against the shape that the configuration
// requires.
class WeightReader {
 public:
  WeightReader(const GgufReader& gguf, const ModelConfig& config) : gguf_(gguf), config_(config) {}

  absl::Status Read(Weights* weights);

 private:
  absl::StatusOr<const TensorInfo*> Take(const std::string& name, uint64_t columns, uint64_t rows);
  absl::Status ReadMatrix(const std::string& name, int rows, int columns, Matrix* out);
  absl::Status ReadVector(const std::string& name, int length, std::vector<float>* out);
  absl::Status ReadBias(const std::string& name, int length, std::vector<float>* out);
  absl::Status ReadQkv(const std::string& blk, LayerWeights* layer);
  absl::Status ReadFusedQkv(const std::string& blk, LayerWeights* layer);
  absl::Status ReadLayer(int index, LayerWeights* layer);
  absl::Status CheckNothingIsLeft() const;

  const GgufReader& gguf_;
  const ModelConfig& config_;
  std::set<std::string, std::less<>> taken_;
};

std::string ShapeText(const TensorInfo& tensor) {
  std::string text = std::to_string(tensor.shape[0]);
  for (uint32_t i = 1; i < tensor.dimensions; ++i) {
    text += " x " + std::to_string(tensor.shape[i]);
  }
  return text;
}

absl::StatusOr<const TensorInfo*> WeightReader::Take(const std::string& name, uint64_t columns,
                                                     uint64_t rows) {
  const TensorInfo* tensor = gguf_.Find(name);
  if (tensor == nullptr) {
    return CorruptModel(fmt::format("tensor {} is missing", name));
  }
  if (tensor->shape != std::array<uint64_t, 4>{columns, rows, 1, 1}) {
    return CorruptModel(fmt::format(
        "tensor {} has shape {}, but the configuration asks for {}", name, ShapeText(*tensor),
        rows == 1 ? std::to_string(columns) : fmt::format("{} x {}", columns, rows)));
  }
  taken_.insert(name);
  return tensor;
}

absl::Status WeightReader::ReadMatrix(const std::string& name, int rows, int columns, Matrix* out) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor,
                   Take(name, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)));
  *out = {
      .type = tensor->type, .rows = rows, .columns = columns, .data = gguf_.Data(*tensor).data()};
  return absl::OkStatus();
}

absl::Status WeightReader::ReadVector(const std::string& name, int length,
                                      std::vector<float>* out) {
  ASSIGN_OR_RETURN(const TensorInfo* tensor, Take(name, static_cast<uint64_t>(length), 1));
  out->resize(static_cast<size_t>(length));
  return Dequantize(tensor->type, gguf_.Data(*tensor), *out);
}

absl::Status WeightReader::ReadBias(const std::string& name, int length, std::vector<float>* out) {
  return gguf_.Find(name) == nullptr ? absl::OkStatus() : ReadVector(name, length, out);
}

absl::Status WeightReader::ReadQkv(const std::string& blk, LayerWeights* layer) {
  const int d = config_.width;
  const int q = config_.heads * config_.head_size;
  const int kv = config_.kv_heads * config_.head_size;
  RETURN_IF_ERROR(ReadMatrix(blk + "attn_q.weight", q, d, &layer->q));
  RETURN_IF_ERROR(ReadMatrix(blk + "attn_k.weight", kv, d, &layer->k));
  RETURN_IF_ERROR(ReadMatrix(blk + "attn_v.weight", kv, d, &layer->v));
  RETURN_IF_ERROR(ReadBias(blk + "attn_q.bias", q, &layer->q_bias));
  RETURN_IF_ERROR(ReadBias(blk + "attn_k.bias", kv, &layer->k_bias));
  return ReadBias(blk + "attn_v.bias", kv, &layer->v_bias);
}

// Reads one tensor that holds the rows of queries, keys and values below each other.
absl::Status WeightReader::ReadFusedQkv(const std::string& blk, LayerWeights* layer) {
  const int q = config_.heads * config_.head_size;
  const int kv = config_.kv_heads * config_.head_size;
  Matrix all;
  RETURN_IF_ERROR(ReadMatrix(blk + "attn_qkv.weight", q + 2 * kv, config_.width, &all));
  const auto part = [&](int first, int rows) {
    Matrix matrix = all;
    matrix.rows = rows;
    matrix.data += static_cast<size_t>(first) * RowBytes(all);
    return matrix;
  };
  layer->q = part(0, q);
  layer->k = part(q, kv);
  layer->v = part(q + kv, kv);
  std::vector<float> bias;
  RETURN_IF_ERROR(ReadBias(blk + "attn_qkv.bias", q + 2 * kv, &bias));
  if (!bias.empty()) {
    layer->q_bias.assign(bias.begin(), bias.begin() + q);
    layer->k_bias.assign(bias.begin() + q, bias.begin() + q + kv);
    layer->v_bias.assign(bias.begin() + q + kv, bias.end());
  }
  return absl::OkStatus();
}

absl::Status WeightReader::ReadLayer(int index, LayerWeights* layer) {
  const std::string blk = fmt::format("blk.{}.", index);
  const int d = config_.width;
  const int q = config_.heads * config_.head_size;
  RETURN_IF_ERROR(ReadVector(blk + "attn_norm.weight", d, &layer->attn_norm));
  RETURN_IF_ERROR(gguf_.Find(blk + "attn_qkv.weight") == nullptr ? ReadQkv(blk, layer)
                                                                 : ReadFusedQkv(blk, layer));
  if (TraitsOf(config_.architecture).head_norms) {
    RETURN_IF_ERROR(ReadVector(blk + "attn_q_norm.weight", config_.head_size, &layer->q_norm));
    RETURN_IF_ERROR(ReadVector(blk + "attn_k_norm.weight", config_.head_size, &layer->k_norm));
  }
  RETURN_IF_ERROR(ReadMatrix(blk + "attn_output.weight", d, q, &layer->output));
  RETURN_IF_ERROR(ReadVector(blk + "ffn_norm.weight", d, &layer->ffn_norm));
  RETURN_IF_ERROR(ReadMatrix(blk + "ffn_gate.weight", config_.ffn, d, &layer->gate));
  RETURN_IF_ERROR(ReadMatrix(blk + "ffn_up.weight", config_.ffn, d, &layer->up));
  return ReadMatrix(blk + "ffn_down.weight", d, config_.ffn, &layer->down);
}

absl::Status WeightReader::Read(Weights* weights) {
  RETURN_IF_ERROR(ReadMatrix("token_embd.weight", config_.vocabulary, config_.width,
                             &weights->token_embedding));
  RETURN_IF_ERROR(ReadVector("output_norm.weight", config_.width, &weights->output_norm));
  weights->output = weights->token_embedding;
  if (gguf_.Find("output.weight") != nullptr) {
    RETURN_IF_ERROR(
        ReadMatrix("output.weight", config_.vocabulary, config_.width, &weights->output));
  }
  if (!config_.rope_divisors.empty()) {
    taken_.insert("rope_freqs.weight");  // read with the configuration
  }
  for (int i = 0; i < config_.layers; ++i) {
    RETURN_IF_ERROR(ReadLayer(i, &weights->layers.emplace_back()));
  }
  return CheckNothingIsLeft();
}

// A tensor that was not used would change the result in a program that knows it.
absl::Status WeightReader::CheckNothingIsLeft() const {
  for (const TensorInfo& tensor : gguf_.tensors()) {
    if (!taken_.contains(tensor.name) && !IsIgnored(tensor.name, config_)) {
      return UnsupportedModel(
          fmt::format("tensor {} is not part of the {} architecture as this build knows it",
                      SanitizeForDisplay(tensor.name), ArchitectureName(config_.architecture)));
    }
  }
  return absl::OkStatus();
}

// Returns lines for settings that most models do not use, or nothing if the model does not use
// them.
std::string OptionalLines(const ModelConfig& config) {
  std::string text;
  if (config.rope_dimensions != config.head_size) {
    text += fmt::format("rope_dimensions {}\n", config.rope_dimensions);
  }
  if (const RopeScaling& scaling = config.rope_scaling; scaling != RopeScaling()) {
    text += fmt::format("rope_scaling {} {:a} {} {:a} {:a} {:a}\n", static_cast<int>(scaling.kind),
                        scaling.factor, scaling.original_context, scaling.attn_factor,
                        scaling.beta_fast, scaling.beta_slow);
  }
  if (config.causal == TraitsOf(config.architecture).diffusion) {
    text += fmt::format("causal {}\n", config.causal);
  }
  if (config.sliding_window > 0) {
    text += fmt::format("sliding_window {}\n", config.sliding_window);
  }
  return text;
}

// Computes a SHA-256 over one line for each field of the configuration that affects the result, and
// then one line for each tensor, sorted by name: name, format, shape, SHA-256 of its bytes. The
// name of the model and the tokenizer are not included. The architecture is, so the same weights
// read as dream and as qwen2 are two models. Weights that are not finite are refused here, because
// the hash reads every byte anyway and takes longer than this check.
absl::StatusOr<Digest> HashModel(const ModelConfig& config, const GgufReader& gguf) {
  std::string text = fmt::format(
      "ruvd model 1\narchitecture {}\nlayers {}\nwidth {}\nheads {}\nkv_heads {}\nhead_size {}\n"
      "ffn {}\nvocabulary {}\ncontext {}\nrms_epsilon {:a}\nrope_base {:a}\nshift_logits {}\n"
      "block_length {}\n",
      ArchitectureName(config.architecture), config.layers, config.width, config.heads,
      config.kv_heads, config.head_size, config.ffn, config.vocabulary, config.context,
      config.rms_epsilon, config.rope_base, config.shift_logits, config.block_length);
  text += OptionalLines(config);
  std::vector<const TensorInfo*> tensors;
  for (const TensorInfo& tensor : gguf.tensors()) {
    tensors.push_back(&tensor);
  }
  std::ranges::sort(tensors, {}, &TensorInfo::name);
  for (const TensorInfo* tensor : tensors) {
    if (!AllFinite(tensor->type, gguf.Data(*tensor))) {
      return CorruptModel(fmt::format("tensor {} holds a value that is not finite",
                                      SanitizeForDisplay(tensor->name)));
    }
    text += fmt::format("{} {} {} {}\n", tensor->name, TensorTypeName(tensor->type),
                        ShapeText(*tensor), ToHex(Sha256(gguf.Data(*tensor))));
    gguf.ReleasePages(gguf.Data(*tensor));  // a forward pass reads back the pages it needs
  }
  return Sha256(text);
}

class LoadedModel final : public Model {
 public:
  // The order matters for destruction: the weights point into the file.
  std::unique_ptr<GgufReader> gguf;
  ModelConfig loaded_config;
  Weights weights;
  std::unique_ptr<Tokenizer> loaded_tokenizer;
  Digest digest{};

  const ModelConfig& config() const override { return loaded_config; }
  const Tokenizer& tokenizer() const override { return *loaded_tokenizer; }
  const LayerWeights& layer(int index) const override {
    return weights.layers[static_cast<size_t>(index)];
  }
  const Matrix& token_embedding() const override { return weights.token_embedding; }
  const Matrix& output() const override { return weights.output; }
  const std::vector<float>& output_norm() const override { return weights.output_norm; }
  const Digest& hash() const override { return digest; }
  void ReleasePages(std::span<const uint8_t> bytes) const override { gguf->ReleasePages(bytes); }
};

absl::Status RefuseParts(const GgufReader& gguf) {
  if (!gguf.Has("split.count")) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t parts, gguf.GetUnsigned("split.count"));
  return parts <= 1 ? absl::OkStatus()
                    : Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                            "the file is one of {} parts of a model; join them with llama.cpp's "
                            "`llama-gguf-split --merge`",
                            parts);
}

absl::Status Fill(LoadedModel* model) {
  RETURN_IF_ERROR(RefuseParts(*model->gguf));
  ASSIGN_OR_RETURN(model->loaded_config, ReadModelConfig(*model->gguf));
  RETURN_IF_ERROR(WeightReader(*model->gguf, model->loaded_config).Read(&model->weights));
  ASSIGN_OR_RETURN(model->loaded_tokenizer, Tokenizer::FromGguf(*model->gguf));
  const auto vocabulary = static_cast<size_t>(model->loaded_config.vocabulary);
  if (model->loaded_tokenizer->size() > vocabulary) {
    return CorruptModel(
        fmt::format("the tokenizer has {} tokens, but token_embd.weight has only {} rows",
                    model->loaded_tokenizer->size(), vocabulary));
  }
  ASSIGN_OR_RETURN(model->digest, HashModel(model->loaded_config, *model->gguf));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> Model::Load(const std::string& path) {
  auto model = std::make_shared<LoadedModel>();
  ASSIGN_OR_RETURN(model->gguf, GgufReader::Open(path));
  if (const absl::Status status = Fill(model.get()); !status.ok()) {
    return Annotate(status, fmt::format("model file {}", path));
  }
  model->gguf->ReleaseAllPages();
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace ruvd::inference
