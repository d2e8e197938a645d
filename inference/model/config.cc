// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/config.h"

#include <array>
#include <string>
#include <string_view>

#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/model/config_keys.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

constexpr std::array<ArchitectureTraits, 5> kTraits = {{
    {.architecture = Architecture::kDream, .name = "dream", .diffusion = true},
    {.architecture = Architecture::kLlada,
     .name = "llada",
     .diffusion = true,
     .shifted = false,
     .adjacent_pairs = true},
    {.architecture = Architecture::kLlama, .name = "llama", .adjacent_pairs = true},
    {.architecture = Architecture::kQwen2, .name = "qwen2"},
    {.architecture = Architecture::kQwen3, .name = "qwen3", .head_norms = true},
}};

absl::StatusOr<Architecture> ReadArchitecture(const GgufReader& gguf) {
  ASSIGN_OR_RETURN(const std::string name, gguf.GetString("general.architecture"));
  std::string known;
  for (const ArchitectureTraits& traits : kTraits) {
    if (name == traits.name) {
      return traits.architecture;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", traits.name);
  }
  return UnsupportedModel(fmt::format("the file's architecture is \"{}\"; this build supports {}",
                                      SanitizeForDisplay(name), known));
}

absl::Status ReadSizes(const ConfigKeys& keys, ModelConfig* config) {
  ASSIGN_OR_RETURN(config->layers, keys.Count("block_count", limits::kMaxLayers));
  ASSIGN_OR_RETURN(config->width, keys.Count("embedding_length", limits::kMaxWidth));
  ASSIGN_OR_RETURN(config->context, keys.Count("context_length", limits::kMaxContext));
  ASSIGN_OR_RETURN(config->ffn, keys.Count("feed_forward_length", limits::kMaxFfn));
  ASSIGN_OR_RETURN(config->heads, keys.Count("attention.head_count", limits::kMaxHeads));
  ASSIGN_OR_RETURN(config->kv_heads,
                   keys.Count("attention.head_count_kv", limits::kMaxHeads, config->heads));
  if (config->heads % config->kv_heads != 0) {
    return CorruptModel(fmt::format("{} attention heads cannot share {} key-value heads evenly",
                                    config->heads, config->kv_heads));
  }
  if (!keys.Has("attention.key_length") && config->width % config->heads != 0) {
    return CorruptModel(
        fmt::format("embedding_length {} is not a multiple of the {} attention heads",
                    config->width, config->heads));
  }
  const int natural = config->width / config->heads;
  ASSIGN_OR_RETURN(config->head_size,
                   keys.Count("attention.key_length", limits::kMaxHeadSize, natural));
  ASSIGN_OR_RETURN(const int value_length,
                   keys.Count("attention.value_length", limits::kMaxHeadSize, natural));
  if (config->head_size < 2 || config->head_size % 2 != 0 ||
      static_cast<uint64_t>(config->head_size) > limits::kMaxHeadSize) {
    return CorruptModel(
        fmt::format("the head size is {}; it must be even and from 2 to {}: see the keys "
                    "embedding_length, attention.head_count and attention.key_length",
                    config->head_size, limits::kMaxHeadSize));
  }
  if (value_length != config->head_size) {
    return UnsupportedModel(fmt::format("value heads have size {}, but key heads have size {}",
                                        value_length, config->head_size));
  }
  return absl::OkStatus();
}

absl::Status ReadAttention(const ConfigKeys& keys, ModelConfig* config) {
  config->causal = !TraitsOf(config->architecture).diffusion;
  if (config->causal && keys.Has("attention.causal")) {
    ASSIGN_OR_RETURN(config->causal, keys.gguf().GetBool(keys.Name("attention.causal")));
  }
  if (keys.Has("attention.sliding_window")) {
    ASSIGN_OR_RETURN(const uint64_t window,
                     keys.gguf().GetUnsigned(keys.Name("attention.sliding_window")));
    if (window > 0 && !config->causal) {
      return UnsupportedModel(fmt::format("key {} is {}, but attention is bidirectional",
                                          keys.Name("attention.sliding_window"), window));
    }
    // A window as long as the context hides nothing.
    config->sliding_window =
        window >= static_cast<uint64_t>(config->context) ? 0 : static_cast<int>(window);
  }
  return absl::OkStatus();
}

absl::Status ReadVocabulary(const GgufReader& gguf, const ConfigKeys& keys, ModelConfig* config) {
  const TensorInfo* embedding = gguf.Find("token_embd.weight");
  if (embedding == nullptr) {
    return CorruptModel("tensor token_embd.weight is missing");
  }
  const uint64_t rows = embedding->shape[1];
  if (rows == 0 || rows > limits::kMaxVocabulary) {
    return CorruptModel(
        fmt::format("token_embd.weight has {} rows; the vocabulary must have between 1 "
                    "and {} entries",
                    rows, limits::kMaxVocabulary));
  }
  config->vocabulary = static_cast<int>(rows);
  ASSIGN_OR_RETURN(const int declared,
                   keys.Count("vocab_size", limits::kMaxVocabulary, config->vocabulary));
  if (declared != config->vocabulary) {
    return CorruptModel(fmt::format("key {} is {}, but token_embd.weight has {} rows",
                                    keys.Name("vocab_size"), declared, rows));
  }
  return absl::OkStatus();
}

absl::Status ReadDiffusion(const GgufReader& gguf, ModelConfig* config) {
  const ArchitectureTraits& traits = TraitsOf(config->architecture);
  config->shift_logits = traits.shifted;
  if (traits.diffusion && gguf.Has("diffusion.shift_logits")) {
    ASSIGN_OR_RETURN(config->shift_logits, gguf.GetBool("diffusion.shift_logits"));
  }
  if (gguf.Has("ruvd.block_length")) {
    ASSIGN_OR_RETURN(const uint64_t block, gguf.GetUnsigned("ruvd.block_length"));
    if (block > static_cast<uint64_t>(config->context)) {
      return CorruptModel(fmt::format("key ruvd.block_length is {}, but the context has {} tokens",
                                      block, config->context));
    }
    config->block_length = static_cast<int>(block);
  }
  return absl::OkStatus();
}

}  // namespace

const ArchitectureTraits& TraitsOf(Architecture architecture) {
  return kTraits[static_cast<size_t>(architecture)];
}

std::string_view ArchitectureName(Architecture architecture) {
  return TraitsOf(architecture).name;
}

absl::StatusOr<ModelConfig> ReadModelConfig(const GgufReader& gguf) {
  ModelConfig config;
  ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(gguf));
  const ConfigKeys keys(gguf, ArchitectureName(config.architecture));
  if (gguf.Has("general.name")) {
    ASSIGN_OR_RETURN(config.name, gguf.GetString("general.name"));
    // the name is sent in protobuf messages, which must be UTF-8
    config.name = ValidUtf8(config.name);
  }
  RETURN_IF_ERROR(keys.RefuseUnknown());
  RETURN_IF_ERROR(ReadSizes(keys, &config));
  ASSIGN_OR_RETURN(config.rms_epsilon, keys.Positive("attention.layer_norm_rms_epsilon"));
  RETURN_IF_ERROR(ReadRopeConfig(keys, &config));
  RETURN_IF_ERROR(ReadAttention(keys, &config));
  RETURN_IF_ERROR(ReadVocabulary(gguf, keys, &config));
  RETURN_IF_ERROR(ReadDiffusion(gguf, &config));
  return config;
}

}  // namespace ruvd::inference
