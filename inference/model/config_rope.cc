// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/model/config.h"
#include "inference/model/config_keys.h"
#include "inference/model/limits.h"
#include "inference/model/rope.h"

namespace ruvd::inference {
namespace {

// As llama.cpp does, reads the older key if the newer one is missing, and treats a factor without a
// type as linear.
absl::Status ReadScaling(const ConfigKeys& keys, ModelConfig* config) {
  RopeScaling& scaling = config->rope_scaling;
  ASSIGN_OR_RETURN(
      scaling.factor,
      keys.Positive(keys.Has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear",
                    1.0F));
  ASSIGN_OR_RETURN(scaling.attn_factor, keys.Positive("rope.scaling.attn_factor", 1.0F));
  ASSIGN_OR_RETURN(scaling.original_context, keys.Count("rope.scaling.original_context_length",
                                                        limits::kMaxContext, config->context));
  ASSIGN_OR_RETURN(scaling.beta_fast, keys.Positive("rope.scaling.yarn_beta_fast", 32.0F));
  ASSIGN_OR_RETURN(scaling.beta_slow, keys.Positive("rope.scaling.yarn_beta_slow", 1.0F));
  std::string type = "linear";
  if (keys.Has("rope.scaling.type")) {
    ASSIGN_OR_RETURN(type, keys.gguf().GetString(keys.Name("rope.scaling.type")));
  }
  if (type == "yarn") {
    scaling.kind = RopeScaling::Kind::kYarn;
    return absl::OkStatus();
  }
  if (type != "linear" && type != "none") {
    return UnsupportedModel(
        fmt::format("key {} is \"{}\"; this build supports none, linear and yarn",
                    keys.Name("rope.scaling.type"), SanitizeForDisplay(type)));
  }
  // A file with a scaling that changes nothing must compare and hash like a file without scaling.
  const float attn_factor = scaling.attn_factor;
  const float factor = type == "none" ? 1.0F : scaling.factor;
  scaling = {.kind = factor == 1.0F ? RopeScaling::Kind::kNone : RopeScaling::Kind::kLinear,
             .factor = factor,
             .attn_factor = attn_factor};
  return absl::OkStatus();
}

absl::Status ReadDivisors(const GgufReader& gguf, ModelConfig* config) {
  const TensorInfo* tensor = gguf.Find("rope_freqs.weight");
  if (tensor == nullptr || config->architecture == Architecture::kLlada) {  // llada ignores it
    return absl::OkStatus();
  }
  if (config->architecture != Architecture::kLlama) {
    // the reader of the weights then reports it as a tensor without a place
    return absl::OkStatus();
  }
  const auto pairs = static_cast<uint64_t>(config->rope_dimensions) / 2;
  if (tensor->shape != std::array<uint64_t, 4>{pairs, 1, 1, 1}) {
    return CorruptModel(
        fmt::format("tensor rope_freqs.weight must have {} values, one for each "
                    "rotated pair",
                    pairs));
  }
  config->rope_divisors.resize(pairs);
  RETURN_IF_ERROR(Dequantize(tensor->type, gguf.Data(*tensor), config->rope_divisors));
  for (const float divisor : config->rope_divisors) {
    if (!std::isfinite(divisor) || divisor <= 0) {
      return CorruptModel(
          fmt::format("tensor rope_freqs.weight holds {}; it must be above zero", divisor));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRopeConfig(const ConfigKeys& keys, ModelConfig* config) {
  config->rope_adjacent = TraitsOf(config->architecture).adjacent_pairs;
  // The default is llama.cpp's.
  ASSIGN_OR_RETURN(config->rope_base, keys.Positive("rope.freq_base", 10000.0F));
  ASSIGN_OR_RETURN(config->rope_dimensions,
                   keys.Count("rope.dimension_count", limits::kMaxHeadSize, config->head_size));
  if (config->rope_dimensions > config->head_size || config->rope_dimensions % 2 != 0) {
    return CorruptModel(fmt::format("key {} is {}; it must be an even part of a head's {} values",
                                    keys.Name("rope.dimension_count"), config->rope_dimensions,
                                    config->head_size));
  }
  if (config->rope_dimensions != config->head_size &&
      config->architecture == Architecture::kLlama) {
    return UnsupportedModel(
        fmt::format("key {} is {}, but a llama model rotates all {} values of a head",
                    keys.Name("rope.dimension_count"), config->rope_dimensions, config->head_size));
  }
  RETURN_IF_ERROR(ReadScaling(keys, config));
  RETURN_IF_ERROR(ReadDivisors(keys.gguf(), config));
  bool finite = std::isfinite(RopeMagnitude(*config));
  for (const double frequency : RopeFrequencies(*config)) {
    finite = finite && std::isfinite(frequency);
  }
  return finite ? absl::OkStatus()
                : CorruptModel(
                      fmt::format("the keys {} give no finite rotation", keys.Name("rope.*")));
}

}  // namespace ruvd::inference
