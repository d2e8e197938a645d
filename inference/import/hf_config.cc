// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/import/json.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
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
               "config.json: {} \"{}\" is not supported; networks of the model types Dream, llada, "
               "llama, mistral, qwen2 and qwen3 with SiLU are",
               key, SanitizeForDisplay(value));
}

// Names of the hyper-parameters, either in the Transformers library or in LLaDA's own code.
struct Names {
  const char* context;
  const char* width;
  const char* ffn;
  const char* layers;
  const char* heads;
  const char* kv_heads;
  const char* activation;
  const char* tied;
};
constexpr Names kTransformersNames = {
    .context = "max_position_embeddings",
    .width = "hidden_size",
    .ffn = "intermediate_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .kv_heads = "num_key_value_heads",
    .activation = "hidden_act",
    .tied = "tie_word_embeddings",
};
constexpr Names kLladaNames = {
    .context = "max_sequence_length",
    .width = "d_model",
    .ffn = "mlp_hidden_size",
    .layers = "n_layers",
    .heads = "n_heads",
    .kv_heads = "n_kv_heads",
    .activation = "activation_type",
    .tied = "weight_tying",
};

struct KnownType {
  const char* model_type;
  const char* architecture;
};
constexpr KnownType kKnownTypes[] = {{"Dream", "dream"}, {"dream", "dream"}, {"llada", "llada"},
                                     {"LLaDA", "llada"}, {"llama", "llama"}, {"mistral", "llama"},
                                     {"qwen2", "qwen2"}, {"qwen3", "qwen3"}};

// Returns an integer above zero. `limit` is the engine's limit.
absl::StatusOr<uint64_t> Required(const json& config, std::string_view key, uint64_t limit) {
  const auto value = JsonUnsigned(config, key);
  if (!value || *value == 0) {
    return Corrupt("{} must be an integer from 1 to {}", key, limit);
  }
  if (*value > limit) {
    return Error(
        absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
        "config.json: {} is {}, more than this build's limit of {}; use a smaller model or, "
        "if this is the context, change it to {}",
        key, *value, limit, limit);
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

absl::StatusOr<std::optional<double>> OptionalNumber(const json& config, std::string_view key) {
  if (JsonMember(config, key) == nullptr) {
    return std::optional<double>();
  }
  ASSIGN_OR_RETURN(const double value, RequiredNumber(config, key));
  return std::optional<double>(value);
}

absl::Status ReadKind(const json& config, HfConfig* out) {
  const std::string type = JsonString(config, "model_type").value_or("");
  for (const KnownType& kind : kKnownTypes) {
    if (type == kind.model_type) {
      out->architecture = kind.architecture;
      // The Transformers library's port of LLaDA uses the names of that library.
      out->llada_names = out->architecture == "llada" && JsonMember(config, "d_model") != nullptr;
      return absl::OkStatus();
    }
  }
  return Unsupported("model_type", type);
}

// Parts of a network that would change every result and that cannot be imported.
constexpr const char* kAbsentParts[] = {
    "mlp_bias",
    "include_bias",
    "alibi",
    "scale_logits",
    "clip_qkv",
    "attention_layer_norm",
    "input_emb_norm",
    "multi_query_attention",
    "rope_interleave",
    "attention_multiplier",
    "attn_logit_softcapping",
    "final_logit_softcapping",
};
// Factors that must be 1.
constexpr const char* kFactors[] = {"partial_rotary_factor", "rotary_pct", "logits_scaling",
                                    "embedding_multiplier", "residual_multiplier"};

absl::Status CheckFactors(const json& config) {
  for (const char* key : kFactors) {
    const json* value = JsonMember(config, key);
    if (value != nullptr && *value != 1) {
      return Unsupported(key, value->dump());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const json& config, const Names& names) {
  const std::string activation = JsonString(config, names.activation).value_or("silu");
  if (activation != "silu" && activation != "swiglu") {
    return Unsupported(names.activation, activation);
  }
  for (const char* key : kAbsentParts) {
    const json* value = JsonMember(config, key);
    if (value != nullptr && *value != false) {
      return Unsupported(key, value->dump());
    }
  }
  if (const json* rope = JsonMember(config, "rope"); rope != nullptr && *rope != true) {
    return Unsupported("rope", rope->dump());
  }
  if (const json* block = JsonMember(config, "block_type"); block != nullptr && *block != "llama") {
    return Unsupported("block_type", block->dump());
  }
  if (const json* norm = JsonMember(config, "layer_norm_type"); norm != nullptr && *norm != "rms") {
    return Unsupported("layer_norm_type", norm->dump());
  }
  if (JsonMember(config, "quantization_config") != nullptr) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                 "config.json: quantization_config says that the weights are quantised; import the "
                 "model's F32, F16 or BF16 weights and name a format with --type");
  }
  return CheckFactors(config);
}

absl::Status ReadHeads(const json& config, const Names& names, HfConfig* out) {
  ASSIGN_OR_RETURN(out->heads, Required(config, names.heads, limits::kMaxHeads));
  out->kv_heads = JsonUnsigned(config, names.kv_heads).value_or(out->heads);
  if (out->kv_heads == 0 || out->heads % out->kv_heads != 0) {
    return Corrupt("{} must divide {}", names.kv_heads, names.heads);
  }
  const auto head_size = JsonUnsigned(config, "head_dim");
  if (!head_size && out->width % out->heads != 0) {
    return Corrupt("{} must divide {}", names.heads, names.width);
  }
  out->head_size = head_size.value_or(out->width / out->heads);
  if (out->head_size == 0 || out->head_size % 2 != 0 || out->head_size > out->width ||
      out->head_size > limits::kMaxHeadSize) {
    return Corrupt("the head size {} is odd, larger than {} or above the limit of {}",
                   out->head_size, names.width, limits::kMaxHeadSize);
  }
  return absl::OkStatus();
}

absl::Status ReadYarn(const json& scaling, HfRopeScaling* out) {
  ASSIGN_OR_RETURN(out->beta_fast, OptionalNumber(scaling, "beta_fast"));
  ASSIGN_OR_RETURN(out->beta_slow, OptionalNumber(scaling, "beta_slow"));
  for (const char* key : {"attention_factor", "mscale", "mscale_all_dim"}) {
    // GGUF's readers compute the default, so other values cannot be expressed
    if (JsonMember(scaling, key) != nullptr) {
      return Unsupported(fmt::format("rope_scaling.{}", key), "set");
    }
  }
  if (!JsonBool(scaling, "truncate").value_or(true)) {
    return Unsupported("rope_scaling.truncate", "false");
  }
  return absl::OkStatus();
}

absl::Status ReadLlama3(const json& scaling, HfRopeScaling* out) {
  ASSIGN_OR_RETURN(out->low_freq_factor, RequiredNumber(scaling, "low_freq_factor"));
  ASSIGN_OR_RETURN(out->high_freq_factor, RequiredNumber(scaling, "high_freq_factor"));
  if (out->low_freq_factor >= out->high_freq_factor) {
    return Corrupt("rope_scaling.low_freq_factor must be below high_freq_factor");
  }
  return absl::OkStatus();
}

absl::Status ReadRopeScaling(const json& scaling, HfConfig* out) {
  using Kind = HfRopeScaling::Kind;
  const std::string kind =
      JsonString(scaling, "rope_type").value_or(JsonString(scaling, "type").value_or(""));
  HfRopeScaling& rope = out->rope_scaling;
  if (kind == "default" || (kind.empty() && JsonMember(scaling, "factor") == nullptr)) {
    return absl::OkStatus();
  }
  rope.kind = kind == "linear"                                   ? Kind::kLinear
              : kind == "yarn"                                   ? Kind::kYarn
              : kind == "llama3" && out->architecture == "llama" ? Kind::kLlama3
                                                                 : Kind::kNone;
  if (rope.kind == Kind::kNone) {
    return Unsupported("rope_scaling", kind);
  }
  ASSIGN_OR_RETURN(rope.factor, RequiredNumber(scaling, "factor"));
  if (rope.kind == Kind::kLinear) {
    return absl::OkStatus();
  }
  const bool has_original = JsonMember(scaling, "original_max_position_embeddings") != nullptr;
  rope.original_context = out->context;
  if (has_original || rope.kind == Kind::kLlama3) {
    ASSIGN_OR_RETURN(rope.original_context,
                     Required(scaling, "original_max_position_embeddings", limits::kMaxContext));
  }
  return rope.kind == Kind::kYarn ? ReadYarn(scaling, &rope) : ReadLlama3(scaling, &rope);
}

// rope_theta is a member next to rope_scaling or, since Transformers 5, of rope_parameters, which
// is the new name of rope_scaling.
absl::Status ReadRope(const json& config, HfConfig* out) {
  const json* parameters = JsonMember(config, "rope_parameters");
  const json* scaling = JsonMember(config, "rope_scaling");
  if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
    return Corrupt("rope_parameters and rope_scaling contradict each other");
  }
  scaling = parameters != nullptr ? parameters : scaling;
  const json none = json::object();
  scaling = scaling != nullptr ? scaling : &none;
  if (!scaling->is_object()) {
    return Corrupt("rope_parameters or rope_scaling is not an object");
  }
  for (const json& value : *scaling) {
    if (value.is_object()) {
      return Unsupported("rope_parameters", "of several kinds of layers");
    }
  }
  RETURN_IF_ERROR(CheckFactors(*scaling));
  ASSIGN_OR_RETURN(const auto outside, OptionalNumber(config, "rope_theta"));
  ASSIGN_OR_RETURN(const auto inside, OptionalNumber(*scaling, "rope_theta"));
  if (outside && inside && *outside != *inside) {
    return Corrupt("rope_theta is {}, but {} in rope_parameters", *outside, *inside);
  }
  // The first llama files have no rope_theta; their value is always 10000.
  const bool old_llama = JsonString(config, "model_type") == "llama" &&
                         JsonMember(config, "rope_parameters") == nullptr;
  if (!outside && !inside && !old_llama) {
    return Corrupt("rope_theta is missing, and rope_parameters.rope_theta too");
  }
  out->rope_base = outside ? *outside : inside.value_or(10000.0);
  return ReadRopeScaling(*scaling, out);
}

// Returns how many layers have a sliding window, for a model that uses one.
absl::StatusOr<uint64_t> SlidingLayers(const json& config, const HfConfig& out, bool qwen) {
  const json* types = JsonMember(config, "layer_types");
  if (types == nullptr) {
    // Qwen's first layers have full attention; the Transformers library's default number of them is
    // 28.
    const uint64_t full = qwen ? JsonUnsigned(config, "max_window_layers").value_or(28) : 0;
    return out.layers - std::min(out.layers, full);
  }
  uint64_t sliding = 0;
  for (const json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      return Unsupported("layer_types", type.dump());
    }
    sliding += type == "sliding_attention" ? 1 : 0;
  }
  if (!types->is_array() || types->size() != out.layers) {
    return Corrupt("layer_types is not one name for each of the {} layers", out.layers);
  }
  return sliding;
}

absl::Status ReadWindow(const json& config, HfConfig* out) {
  const bool qwen =
      out->architecture == "qwen2" || out->architecture == "qwen3" || out->architecture == "dream";
  ASSIGN_OR_RETURN(const uint64_t sliding, SlidingLayers(config, *out, qwen));
  const bool used = JsonBool(config, "use_sliding_window").value_or(!qwen);
  const uint64_t window = used ? JsonUnsigned(config, "sliding_window").value_or(0) : 0;
  if (window == 0 || sliding == 0) {
    return absl::OkStatus();
  }
  if (sliding < out->layers) {
    return Unsupported(
        JsonMember(config, "layer_types") != nullptr ? "layer_types" : "max_window_layers",
        fmt::format("a window in {} of {} layers", sliding, out->layers));
  }
  if (out->architecture == "dream" || out->architecture == "llada") {
    return Unsupported("sliding_window", fmt::format("{} in a diffusion model", window));
  }
  out->sliding_window = window;
  return absl::OkStatus();
}

absl::Status ReadSizes(const json& config, const Names& names, HfConfig* out) {
  ASSIGN_OR_RETURN(out->vocabulary, Required(config, "vocab_size", limits::kMaxVocabulary));
  if (out->llada_names && JsonMember(config, "embedding_size") != nullptr) {
    // LLaDA may pad its matrices beyond the vocabulary.
    ASSIGN_OR_RETURN(out->vocabulary, Required(config, "embedding_size", limits::kMaxVocabulary));
  }
  ASSIGN_OR_RETURN(out->context, Required(config, names.context, limits::kMaxContext));
  ASSIGN_OR_RETURN(out->width, Required(config, names.width, limits::kMaxWidth));
  ASSIGN_OR_RETURN(out->ffn, Required(config, names.ffn, limits::kMaxFfn));
  ASSIGN_OR_RETURN(out->layers, Required(config, names.layers, limits::kMaxLayers));
  RETURN_IF_ERROR(ReadHeads(config, names, out));
  ASSIGN_OR_RETURN(out->rms_epsilon, RequiredNumber(config, "rms_norm_eps"));
  RETURN_IF_ERROR(ReadRope(config, out));
  RETURN_IF_ERROR(ReadWindow(config, out));
  out->tied = JsonBool(config, names.tied).value_or(false);
  return absl::OkStatus();
}

absl::Status ReadDiffusion(const json& config, HfConfig* out) {
  out->shift_logits = out->architecture != "llada";
  const json* diffusion = JsonMember(config, "diffusion");
  if (diffusion == nullptr) {
    return absl::OkStatus();
  }
  out->shift_logits = JsonBool(*diffusion, "shift_logits").value_or(out->shift_logits);
  out->block_length = JsonUnsigned(*diffusion, "block_length").value_or(0);
  if (out->block_length > out->context) {
    return Corrupt("diffusion.block_length {} exceeds the context of {}", out->block_length,
                   out->context);
  }
  return absl::OkStatus();
}

// Returns an id, or the first of a list of ids (Llama 3 has several end tokens).
std::optional<uint64_t> TokenId(const json& config, std::string_view key) {
  const json* value = JsonMember(config, key);
  if (value != nullptr && value->is_array() && !value->empty() &&
      value->front().is_number_unsigned()) {
    return value->front().get<uint64_t>();
  }
  return JsonUnsigned(config, key);
}

absl::Status ReadTokens(const json& config, HfConfig* out) {
  out->bos = TokenId(config, "bos_token_id");
  out->eos = TokenId(config, "eos_token_id");
  out->pad = TokenId(config, "pad_token_id");
  out->mask = TokenId(config, "mask_token_id");
  for (const auto& id : {out->bos, out->eos, out->pad, out->mask}) {
    if (id && *id >= out->vocabulary) {
      return Corrupt("special token {} lies outside the vocabulary of {}", *id, out->vocabulary);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HfConfig> ParseHfConfig(std::string_view text) {
  ASSIGN_OR_RETURN(const json config, ParseJsonObject(text, "config.json"));
  HfConfig out;
  RETURN_IF_ERROR(ReadKind(config, &out));
  const Names& names = out.llada_names ? kLladaNames : kTransformersNames;
  RETURN_IF_ERROR(CheckParts(config, names));
  RETURN_IF_ERROR(ReadSizes(config, names, &out));
  RETURN_IF_ERROR(ReadDiffusion(config, &out));
  RETURN_IF_ERROR(ReadTokens(config, &out));
  return out;
}

}  // namespace ruvd::inference
