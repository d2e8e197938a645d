// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"

namespace ruvd::inference {
namespace {

using Mix = QuantizationScheme::Mix;

struct NamedScheme {
  const char* name;
  TensorType base;
  Mix mix;
  uint32_t file_type;
};

constexpr NamedScheme kSchemes[] = {
    {"f32", TensorType::kF32, Mix::kNone, 0},
    {"f16", TensorType::kF16, Mix::kNone, 1},
    {"bf16", TensorType::kBF16, Mix::kNone, 32},
    {"q8_0", TensorType::kQ8_0, Mix::kNone, 7},
    {"q4_0", TensorType::kQ4_0, Mix::kNone, 2},
    {"q4_1", TensorType::kQ4_1, Mix::kNone, 3},
    {"q5_0", TensorType::kQ5_0, Mix::kNone, 8},
    {"q5_1", TensorType::kQ5_1, Mix::kNone, 9},
    // llama.cpp has no number for a file without exceptions. The small mix is the nearest one.
    {"q4_k", TensorType::kQ4_K, Mix::kNone, 14},
    {"q4_k_s", TensorType::kQ4_K, Mix::kSmall, 14},
    {"q4_k_m", TensorType::kQ4_K, Mix::kMedium, 15},
    {"q5_k", TensorType::kQ5_K, Mix::kNone, 16},
    {"q5_k_s", TensorType::kQ5_K, Mix::kSmall, 16},
    {"q5_k_m", TensorType::kQ5_K, Mix::kMedium, 17},
    {"q6_k", TensorType::kQ6_K, Mix::kNone, 18},
};

// Returns the layer number of "blk.N.<part>", or nullopt for another name.
std::optional<uint64_t> LayerOf(std::string_view name, std::string_view part) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix) || !name.ends_with(part)) {
    return std::nullopt;
  }
  const std::string_view number =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - part.size());
  uint64_t layer = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), layer);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  return whole ? std::optional<uint64_t>(layer) : std::nullopt;
}

// Returns whether llama.cpp gives this layer more bits, because its errors affect the loss most.
bool DeservesMoreBits(uint64_t layer, uint64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

TensorType OutputType(TensorType base) {
  return BlockValues(base) == 1 || base == TensorType::kQ8_0 ? base : TensorType::kQ6_K;
}

}  // namespace

absl::StatusOr<QuantizationScheme> ParseQuantizationScheme(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  for (const NamedScheme& scheme : kSchemes) {
    if (lower == scheme.name) {
      return QuantizationScheme{
          .name = lower, .base = scheme.base, .mix = scheme.mix, .file_type = scheme.file_type};
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "format \"{}\" is not known; use one of {}", name.substr(0, 32),
               QuantizationSchemeNames());
}

std::string QuantizationSchemeNames() {
  std::string names;
  for (const NamedScheme& scheme : kSchemes) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", scheme.name);
  }
  return names;
}

bool IsQuantizable(const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  return tensor.dimensions >= 2 && name.ends_with(".weight") && !name.ends_with("_norm.weight") &&
         !name.ends_with("ffn_gate_inp.weight");
}

TensorType WantedType(const QuantizationScheme& scheme, std::string_view name,
                      const ModelOutline& outline) {
  if (name == "output.weight" || (name == "token_embd.weight" && !outline.has_output)) {
    return OutputType(scheme.base);
  }
  const TensorType next = scheme.base == TensorType::kQ4_K ? TensorType::kQ5_K : TensorType::kQ6_K;
  const auto value_layer = LayerOf(name, ".attn_v.weight");
  const auto down_layer = LayerOf(name, ".ffn_down.weight");
  if (scheme.mix == Mix::kMedium) {
    const auto layer = value_layer ? value_layer : down_layer;
    if (layer && DeservesMoreBits(*layer, outline.layers)) {
      return TensorType::kQ6_K;
    }
    if (LayerOf(name, ".attn_qkv.weight")) {
      return next;
    }
  }
  if (scheme.mix == Mix::kSmall && scheme.base == TensorType::kQ4_K &&
      ((value_layer && *value_layer < 4) || (down_layer && *down_layer < outline.layers / 8))) {
    return next;
  }
  return scheme.base;
}

TensorType FittingType(TensorType wanted, uint64_t columns) {
  TensorType type = wanted;
  if (columns % BlockValues(type) != 0) {
    type = type == TensorType::kQ4_K   ? TensorType::kQ5_0
           : type == TensorType::kQ5_K ? TensorType::kQ5_1
           : type == TensorType::kQ6_K ? TensorType::kQ8_0
                                       : TensorType::kF16;
  }
  return columns % BlockValues(type) == 0 ? type : TensorType::kF16;
}

}  // namespace ruvd::inference
