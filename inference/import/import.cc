// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/import.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/writer.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_tokenizer.h"
#include "inference/import/limits.h"
#include "inference/import/safetensors.h"

namespace ruvd {
namespace {

using TensorMap = std::map<std::string, SafetensorsTensor>;

// general.file_type of llama.cpp (enum llama_ftype).
uint32_t FileType(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return 1;
    case TensorType::kQ4_0:
      return 2;
    case TensorType::kQ8_0:
      return 7;
    default:
      return 0;  // F32
  }
}

void WriteHyperParameters(const HfConfig& config, const ImportOptions& options,
                          std::string_view name, GgufWriter* out) {
  const auto number = [&](std::string_view key, uint64_t value) {
    out->SetUnsigned32(fmt::format("{}.{}", options.architecture, key),
                       static_cast<uint32_t>(value));
  };
  const auto real = [&](std::string_view key, double value) {
    out->SetFloat32(fmt::format("{}.{}", options.architecture, key), static_cast<float>(value));
  };
  out->SetString("general.architecture", options.architecture);
  out->SetString("general.type", "model");
  out->SetString("general.name", name);
  out->SetUnsigned32("general.file_type", FileType(options.type));
  out->SetUnsigned32("general.quantization_version", 2);
  number("block_count", config.layers);
  number("context_length", config.context);
  number("embedding_length", config.width);
  number("feed_forward_length", config.ffn);
  number("attention.head_count", config.heads);
  number("attention.head_count_kv", config.kv_heads);
  number("vocab_size", config.vocabulary);
  if (config.head_size * config.heads != config.width) {
    number("attention.key_length", config.head_size);
    number("attention.value_length", config.head_size);
  }
  real("attention.layer_norm_rms_epsilon", config.rms_epsilon);
  real("rope.freq_base", config.rope_base);
  if (options.architecture == "dream") {
    out->SetBool("dream.attention.causal", false);
    out->SetBool("diffusion.shift_logits", config.shift_logits);
  }
  if (config.block_length > 0) {  // ours; llama.cpp ignores it
    out->SetUnsigned32("ruvd.block_length", static_cast<uint32_t>(config.block_length));
  }
}

void WriteTokenizer(const HfTokenizer& tokenizer, const HfConfig& config, GgufWriter* out) {
  out->SetString("tokenizer.ggml.model", "gpt2");
  out->SetString("tokenizer.ggml.pre", tokenizer.pre);
  out->SetStringArray("tokenizer.ggml.tokens", tokenizer.tokens);
  out->SetInt32Array("tokenizer.ggml.token_type", tokenizer.types);
  out->SetStringArray("tokenizer.ggml.merges", tokenizer.merges);
  const auto id = [&](std::string_view name, const std::optional<uint64_t>& value) {
    if (value) {
      out->SetUnsigned32(fmt::format("tokenizer.ggml.{}_token_id", name),
                         static_cast<uint32_t>(*value));
    }
  };
  id("bos", config.bos);
  id("eos", config.eos);
  id("padding", config.pad);
  id("mask", config.mask);
  out->SetBool("tokenizer.ggml.add_bos_token", false);
}

// Moves tensors from the safetensors names to GGUF's, checking shapes on the way.
class TensorImport {
 public:
  TensorImport(TensorMap tensors, TensorType type, GgufWriter* out)
      : tensors_(std::move(tensors)), type_(type), out_(out) {}

  absl::Status Matrix(const std::string& from, const std::string& to, uint64_t rows,
                      uint64_t columns) {
    return Move(from, to, {rows, columns}, type_);
  }
  absl::Status Vector(const std::string& from, const std::string& to, uint64_t length) {
    return Move(from, to, {length}, TensorType::kF32);
  }
  bool Has(const std::string& name) const { return tensors_.contains(name); }

  // Every tensor of the source must have found its place.
  absl::Status Finish() const {
    if (!tensors_.empty()) {
      return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                   "model.safetensors: tensor {} belongs to no Dream or Qwen2 network",
                   tensors_.begin()->first.substr(0, 128));
    }
    return absl::OkStatus();
  }
  uint64_t parameters() const { return parameters_; }
  uint64_t count() const { return count_; }

 private:
  absl::Status Move(const std::string& from, const std::string& to,
                    const std::vector<uint64_t>& shape, TensorType type) {
    const auto found = tensors_.find(from);
    if (found == tensors_.end()) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "model.safetensors: tensor {} is missing; obtain the file again", from);
    }
    if (found->second.shape != shape) {
      return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                   "model.safetensors: tensor {} has the shape [{}], config.json asks for [{}]",
                   from, fmt::join(found->second.shape, ", "), fmt::join(shape, ", "));
    }
    const std::vector<float> values = found->second.ToFloat();
    auto bytes = Quantize(type, values);
    if (!bytes.ok()) {
      return Annotate(bytes.status(), from);
    }
    const std::vector<uint64_t> reversed(shape.rbegin(), shape.rend());
    out_->AddTensor(to, type, reversed, *std::move(bytes));
    parameters_ += values.size();
    ++count_;
    tensors_.erase(found);
    return absl::OkStatus();
  }

  TensorMap tensors_;
  TensorType type_;
  GgufWriter* out_;
  uint64_t parameters_ = 0;
  uint64_t count_ = 0;
};

absl::Status ImportLayer(const HfConfig& config, uint64_t layer, TensorImport* tensors) {
  const std::string from = fmt::format("model.layers.{}.", layer);
  const std::string to = fmt::format("blk.{}.", layer);
  const uint64_t q_rows = config.heads * config.head_size;
  const uint64_t kv_rows = config.kv_heads * config.head_size;
  RETURN_IF_ERROR(
      tensors->Vector(from + "input_layernorm.weight", to + "attn_norm.weight", config.width));
  struct Projection {
    const char* from;
    const char* to;
    uint64_t rows;
  };
  for (const Projection& p : {Projection{"q", "q", q_rows}, Projection{"k", "k", kv_rows},
                              Projection{"v", "v", kv_rows}}) {
    const std::string source = fmt::format("{}self_attn.{}_proj.", from, p.from);
    const std::string target = fmt::format("{}attn_{}.", to, p.to);
    RETURN_IF_ERROR(tensors->Matrix(source + "weight", target + "weight", p.rows, config.width));
    if (tensors->Has(source + "bias")) {
      RETURN_IF_ERROR(tensors->Vector(source + "bias", target + "bias", p.rows));
    }
  }
  RETURN_IF_ERROR(tensors->Matrix(from + "self_attn.o_proj.weight", to + "attn_output.weight",
                                  config.width, q_rows));
  RETURN_IF_ERROR(tensors->Vector(from + "post_attention_layernorm.weight", to + "ffn_norm.weight",
                                  config.width));
  RETURN_IF_ERROR(tensors->Matrix(from + "mlp.gate_proj.weight", to + "ffn_gate.weight", config.ffn,
                                  config.width));
  RETURN_IF_ERROR(
      tensors->Matrix(from + "mlp.up_proj.weight", to + "ffn_up.weight", config.ffn, config.width));
  return tensors->Matrix(from + "mlp.down_proj.weight", to + "ffn_down.weight", config.width,
                         config.ffn);
}

absl::Status ImportTensors(const HfConfig& config, TensorImport* tensors) {
  RETURN_IF_ERROR(tensors->Matrix("model.embed_tokens.weight", "token_embd.weight",
                                  config.vocabulary, config.width));
  for (uint64_t layer = 0; layer < config.layers; ++layer) {
    RETURN_IF_ERROR(ImportLayer(config, layer, tensors));
  }
  RETURN_IF_ERROR(tensors->Vector("model.norm.weight", "output_norm.weight", config.width));
  if (!config.tied) {
    RETURN_IF_ERROR(
        tensors->Matrix("lm_head.weight", "output.weight", config.vocabulary, config.width));
  }
  return tensors->Finish();
}

absl::Status CheckOptions(const ImportOptions& options) {
  if (options.architecture != "dream" && options.architecture != "qwen2") {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "architecture \"{}\" is not known; use dream or qwen2", options.architecture);
  }
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kQ8_0, TensorType::kQ4_0}) {
    if (options.type == type) {
      return absl::OkStatus();
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "models cannot be written as {}; use f32, f16, q8_0 or q4_0",
               TensorTypeName(options.type));
}

}  // namespace

absl::StatusOr<TensorType> ParseImportType(std::string_view name) {
  if (name == "f32") {
    return TensorType::kF32;
  }
  if (name == "f16") {
    return TensorType::kF16;
  }
  if (name == "q8_0") {
    return TensorType::kQ8_0;
  }
  if (name == "q4_0") {
    return TensorType::kQ4_0;
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "format \"{}\" is not known; use f32, f16, q8_0 or q4_0", name);
}

absl::StatusOr<ImportResult> ImportModel(const std::string& folder, const ImportOptions& options,
                                         const std::string& out_path) {
  RETURN_IF_ERROR(CheckOptions(options));
  const std::filesystem::path base(folder);
  ASSIGN_OR_RETURN(const std::string config_text,
                   ReadFile((base / "config.json").string(), limits::kMaxImportConfigBytes));
  ASSIGN_OR_RETURN(const HfConfig config, ParseHfConfig(config_text));
  ASSIGN_OR_RETURN(const std::string tokenizer_text,
                   ReadFile((base / "tokenizer.json").string(), limits::kMaxImportTokenizerBytes));
  ASSIGN_OR_RETURN(const HfTokenizer tokenizer,
                   ParseHfTokenizer(tokenizer_text, config.vocabulary));
  ASSIGN_OR_RETURN(const auto weights, MappedFile::Open((base / "model.safetensors").string()));
  ASSIGN_OR_RETURN(TensorMap tensors, ParseSafetensors(weights->bytes()));

  GgufWriter writer;
  std::error_code ignored;  // on failure the name stays empty
  const std::string folder_name =
      std::filesystem::weakly_canonical(base, ignored).filename().string();
  WriteHyperParameters(config, options, options.name.empty() ? folder_name : options.name, &writer);
  WriteTokenizer(tokenizer, config, &writer);
  TensorImport import(std::move(tensors), options.type, &writer);
  RETURN_IF_ERROR(ImportTensors(config, &import));
  ASSIGN_OR_RETURN(const std::string file, writer.Serialize());
  RETURN_IF_ERROR(WriteFileAtomically(out_path, file));
  return ImportResult{
      .tensors = import.count(), .parameters = import.parameters(), .bytes = file.size()};
}

}  // namespace ruvd
