// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_config.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/import/json.h"
#include "inference/import/limits.h"

namespace ruvd {
namespace {

using nlohmann::json;

template <typename... Args>
absl::Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "config.json: {}; obtain the file again", fault);
}

absl::Status Unsupported(std::string_view key, std::string_view value) {
  return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
               "config.json: {} \"{}\" is not supported; Dream and Qwen2 networks with SiLU and "
               "plain RoPE are",
               key, value.substr(0, 64));
}

absl::StatusOr<uint64_t> Required(const json& config, std::string_view key, uint64_t limit) {
  const auto value = JsonUnsigned(config, key);
  if (!value || *value == 0 || *value > limit) {
    return Corrupt("{} must be an integer from 1 to {}", key, limit);
  }
  return *value;
}

absl::StatusOr<double> RequiredNumber(const json& config, std::string_view key) {
  const auto value = JsonNumber(config, key);
  if (!value || !std::isfinite(*value) || *value <= 0) {
    return Corrupt("{} must be a positive number", key);
  }
  return *value;
}

absl::Status CheckKind(const json& config) {
  const std::string type = JsonString(config, "model_type").value_or("");
  if (type != "Dream" && type != "dream" && type != "qwen2") {
    return Unsupported("model_type", type);
  }
  const std::string activation = JsonString(config, "hidden_act").value_or("silu");
  if (activation != "silu") {
    return Unsupported("hidden_act", activation);
  }
  if (const json* scaling = JsonMember(config, "rope_scaling"); scaling != nullptr) {
    return Unsupported("rope_scaling", "set");
  }
  return absl::OkStatus();
}

absl::Status ReadHeads(const json& config, HfConfig* out) {
  ASSIGN_OR_RETURN(out->heads, Required(config, "num_attention_heads", limits::kMaxImportWidth));
  out->kv_heads = JsonUnsigned(config, "num_key_value_heads").value_or(out->heads);
  if (out->kv_heads == 0 || out->heads % out->kv_heads != 0) {
    return Corrupt("num_key_value_heads must divide num_attention_heads");
  }
  const auto head_size = JsonUnsigned(config, "head_dim");
  if (!head_size && out->width % out->heads != 0) {
    return Corrupt("num_attention_heads must divide hidden_size");
  }
  out->head_size = head_size.value_or(out->width / out->heads);
  if (out->head_size == 0 || out->head_size % 2 != 0 || out->head_size > out->width) {
    return Corrupt("heads of {} values cannot be rotated", out->head_size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HfConfig> ParseHfConfig(std::string_view text) {
  ASSIGN_OR_RETURN(const json config, ParseJsonObject(text, "config.json"));
  RETURN_IF_ERROR(CheckKind(config));
  HfConfig out;
  ASSIGN_OR_RETURN(out.vocabulary, Required(config, "vocab_size", limits::kMaxImportVocabulary));
  ASSIGN_OR_RETURN(out.context,
                   Required(config, "max_position_embeddings", limits::kMaxImportContext));
  ASSIGN_OR_RETURN(out.width, Required(config, "hidden_size", limits::kMaxImportWidth));
  ASSIGN_OR_RETURN(out.ffn, Required(config, "intermediate_size", limits::kMaxImportWidth));
  ASSIGN_OR_RETURN(out.layers, Required(config, "num_hidden_layers", limits::kMaxImportLayers));
  RETURN_IF_ERROR(ReadHeads(config, &out));
  ASSIGN_OR_RETURN(out.rms_epsilon, RequiredNumber(config, "rms_norm_eps"));
  ASSIGN_OR_RETURN(out.rope_base, RequiredNumber(config, "rope_theta"));
  out.tied = JsonBool(config, "tie_word_embeddings").value_or(false);
  if (const json* diffusion = JsonMember(config, "diffusion"); diffusion != nullptr) {
    out.shift_logits = JsonBool(*diffusion, "shift_logits").value_or(true);
    out.block_length = JsonUnsigned(*diffusion, "block_length").value_or(0);
    if (out.block_length > out.context) {
      return Corrupt("diffusion.block_length {} exceeds the context of {}", out.block_length,
                     out.context);
    }
  }
  out.bos = JsonUnsigned(config, "bos_token_id");
  out.eos = JsonUnsigned(config, "eos_token_id");
  out.pad = JsonUnsigned(config, "pad_token_id");
  out.mask = JsonUnsigned(config, "mask_token_id");
  for (const auto& id : {out.bos, out.eos, out.pad, out.mask}) {
    if (id && *id >= out.vocabulary) {
      return Corrupt("special token {} lies outside the vocabulary of {}", *id, out.vocabulary);
    }
  }
  return out;
}

}  // namespace ruvd
