// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/config.h"

#include <cmath>
#include <string>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/limits.h"

namespace ruvd {
namespace {

absl::Status Corrupt(std::string message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kModelCorrupt, "{}", message);
}

absl::Status Unsupported(std::string message) {
  return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported, "{}", message);
}

// Reads keys below "<architecture>.".
class Keys {
 public:
  Keys(const GgufReader& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(std::string(architecture) + ".") {}

  std::string Name(std::string_view key) const { return prefix_ + std::string(key); }
  bool Has(std::string_view key) const { return gguf_.Has(Name(key)); }

  // A whole number in [1, largest].
  absl::StatusOr<int> Count(std::string_view key, uint64_t largest) const {
    ASSIGN_OR_RETURN(const uint64_t value, gguf_.GetUnsigned(Name(key)));
    if (value == 0 || value > largest) {
      return Corrupt(
          fmt::format("key {} is {}; it must be between 1 and {}", Name(key), value, largest));
    }
    return static_cast<int>(value);
  }
  absl::StatusOr<int> Count(std::string_view key, uint64_t largest, int absent) const {
    return Has(key) ? Count(key, largest) : absl::StatusOr<int>(absent);
  }
  // A finite number above zero.
  absl::StatusOr<float> Positive(std::string_view key) const {
    ASSIGN_OR_RETURN(const double value, gguf_.GetFloat(Name(key)));
    if (!std::isfinite(value) || value <= 0) {
      return Corrupt(fmt::format("key {} is {}; it must be above zero", Name(key), value));
    }
    return static_cast<float>(value);
  }

 private:
  const GgufReader& gguf_;
  std::string prefix_;
};

absl::StatusOr<Architecture> ReadArchitecture(const GgufReader& gguf) {
  ASSIGN_OR_RETURN(const std::string name, gguf.GetString("general.architecture"));
  for (const Architecture known : {Architecture::kDream, Architecture::kQwen2}) {
    if (name == ArchitectureName(known)) {
      return known;
    }
  }
  return Unsupported(
      fmt::format("the file's architecture is \"{}\"; this build runs dream and qwen2", name));
}

absl::Status ReadSizes(const Keys& keys, ModelConfig* config) {
  ASSIGN_OR_RETURN(config->layers, keys.Count("block_count", limits::kMaxLayers));
  ASSIGN_OR_RETURN(config->width, keys.Count("embedding_length", limits::kMaxWidth));
  ASSIGN_OR_RETURN(config->context, keys.Count("context_length", limits::kMaxContext));
  ASSIGN_OR_RETURN(config->ffn, keys.Count("feed_forward_length", limits::kMaxFfn));
  ASSIGN_OR_RETURN(config->heads, keys.Count("attention.head_count", limits::kMaxHeads));
  ASSIGN_OR_RETURN(config->kv_heads,
                   keys.Count("attention.head_count_kv", limits::kMaxHeads, config->heads));
  if (config->heads % config->kv_heads != 0) {
    return Corrupt(fmt::format("{} attention heads cannot share {} key-value heads evenly",
                               config->heads, config->kv_heads));
  }
  if (!keys.Has("attention.key_length") && config->width % config->heads != 0) {
    return Corrupt(fmt::format("embedding_length {} is no multiple of {} attention heads",
                               config->width, config->heads));
  }
  const int natural = config->width / config->heads;
  ASSIGN_OR_RETURN(config->head_size,
                   keys.Count("attention.key_length", limits::kMaxHeadSize, natural));
  ASSIGN_OR_RETURN(const int value_length,
                   keys.Count("attention.value_length", limits::kMaxHeadSize, config->head_size));
  if (config->head_size < 2 || config->head_size % 2 != 0) {
    return Corrupt(
        fmt::format("heads of size {}; rotary embedding needs an even size of at least "
                    "2",
                    config->head_size));
  }
  if (value_length != config->head_size) {
    return Unsupported(fmt::format("value heads of size {} beside key heads of size {}",
                                   value_length, config->head_size));
  }
  return absl::OkStatus();
}

absl::Status ReadRope(const GgufReader& gguf, const Keys& keys, ModelConfig* config) {
  config->rope_base = 10000.0F;  // llama.cpp's default
  if (keys.Has("rope.freq_base")) {
    ASSIGN_OR_RETURN(config->rope_base, keys.Positive("rope.freq_base"));
  }
  ASSIGN_OR_RETURN(const int dimensions,
                   keys.Count("rope.dimension_count", limits::kMaxHeadSize, config->head_size));
  if (dimensions != config->head_size) {
    return Unsupported(fmt::format("rotary embedding of {} of the {} values of a head", dimensions,
                                   config->head_size));
  }
  if (keys.Has("rope.scaling.type")) {
    ASSIGN_OR_RETURN(const std::string scaling, gguf.GetString(keys.Name("rope.scaling.type")));
    if (scaling != "none") {
      return Unsupported(fmt::format("rotary embedding with scaling \"{}\"", scaling));
    }
  }
  if (keys.Has("rope.scale_linear")) {
    return Unsupported("rotary embedding with linear scaling");
  }
  return absl::OkStatus();
}

absl::Status ReadVocabulary(const GgufReader& gguf, const Keys& keys, ModelConfig* config) {
  const TensorInfo* embedding = gguf.Find("token_embd.weight");
  if (embedding == nullptr) {
    return Corrupt("tensor token_embd.weight is missing");
  }
  const uint64_t rows = embedding->shape[1];
  if (rows == 0 || rows > limits::kMaxVocabulary) {
    return Corrupt(
        fmt::format("token_embd.weight has {} rows; the vocabulary must have between 1 "
                    "and {} entries",
                    rows, limits::kMaxVocabulary));
  }
  config->vocabulary = static_cast<int>(rows);
  ASSIGN_OR_RETURN(const int declared,
                   keys.Count("vocab_size", limits::kMaxVocabulary, config->vocabulary));
  if (declared != config->vocabulary) {
    return Corrupt(fmt::format("key {} is {}, but token_embd.weight has {} rows",
                               keys.Name("vocab_size"), declared, rows));
  }
  return absl::OkStatus();
}

absl::Status ReadDiffusion(const GgufReader& gguf, ModelConfig* config) {
  // llama.cpp's convention: a file that does not say is shifted.
  config->shift_logits = true;
  if (config->architecture == Architecture::kDream && gguf.Has("diffusion.shift_logits")) {
    ASSIGN_OR_RETURN(config->shift_logits, gguf.GetBool("diffusion.shift_logits"));
  }
  if (gguf.Has("ruvd.block_length")) {
    ASSIGN_OR_RETURN(const uint64_t block, gguf.GetUnsigned("ruvd.block_length"));
    if (block > static_cast<uint64_t>(config->context)) {
      return Corrupt(fmt::format("key ruvd.block_length is {}, the context is {} tokens", block,
                                 config->context));
    }
    config->block_length = static_cast<int>(block);
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view ArchitectureName(Architecture architecture) {
  return architecture == Architecture::kDream ? "dream" : "qwen2";
}

absl::StatusOr<ModelConfig> ReadModelConfig(const GgufReader& gguf) {
  ModelConfig config;
  ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(gguf));
  const Keys keys(gguf, ArchitectureName(config.architecture));
  if (gguf.Has("general.name")) {
    ASSIGN_OR_RETURN(config.name, gguf.GetString("general.name"));
  }
  RETURN_IF_ERROR(ReadSizes(keys, &config));
  ASSIGN_OR_RETURN(config.rms_epsilon, keys.Positive("attention.layer_norm_rms_epsilon"));
  RETURN_IF_ERROR(ReadRope(gguf, keys, &config));
  RETURN_IF_ERROR(ReadVocabulary(gguf, keys, &config));
  RETURN_IF_ERROR(ReadDiffusion(gguf, &config));
  return config;
}

}  // namespace ruvd
