// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/config_keys.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

// Keys that the computation uses, and keys that do not affect the result.
constexpr std::string_view kKnownKeys[] = {
    "attention.causal",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "attention.sliding_window",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.attn_factor",
    "rope.scaling.factor",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "tensor_data_layout",
    "vocab_size",
};
// For these keys zero means that the feature is not used. Any other value is refused.
constexpr std::string_view kZeroOnlyKeys[] = {
    "attn_logit_softcapping",  "expert_count",
    "expert_shared_count",     "expert_used_count",
    "final_logit_softcapping", "nextn_predict_layers",
    "attention.clamp_kqv",     "attention.max_alibi_bias"};

constexpr size_t kShownKeyBytes = 128;

bool Holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::Status CorruptModel(const std::string& message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kModelCorrupt,
               "{}; obtain the file again or convert the model again", message);
}

absl::Status UnsupportedModel(const std::string& message) {
  return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
               "{}; use another model", message);
}

absl::StatusOr<int> ConfigKeys::Count(std::string_view key, uint64_t largest) const {
  ASSIGN_OR_RETURN(const uint64_t value, gguf_.GetUnsigned(Name(key)));
  if (value == 0 || value > largest) {
    return CorruptModel(
        fmt::format("key {} is {}; it must be between 1 and {}", Name(key), value, largest));
  }
  return static_cast<int>(value);
}

absl::StatusOr<int> ConfigKeys::Count(std::string_view key, uint64_t largest, int absent) const {
  return Has(key) ? Count(key, largest) : absl::StatusOr<int>(absent);
}

absl::StatusOr<float> ConfigKeys::Positive(std::string_view key) const {
  ASSIGN_OR_RETURN(const double value, gguf_.GetFloat(Name(key)));
  const auto single = static_cast<float>(value);
  if (!std::isfinite(single) || single <= 0) {
    return CorruptModel(fmt::format("key {} is {}; it must be above zero", Name(key), value));
  }
  return single;
}

absl::StatusOr<float> ConfigKeys::Positive(std::string_view key, float absent) const {
  return Has(key) ? Positive(key) : absl::StatusOr<float>(absent);
}

absl::Status ConfigKeys::RefuseUnknown() const {
  for (const std::string_view full : gguf_.Keys()) {
    if (!full.starts_with(prefix_)) {
      continue;
    }
    const std::string_view key = full.substr(prefix_.size());
    const auto is_zero = [&] {
      const auto number = gguf_.GetUnsigned(full);
      const auto fraction = gguf_.GetFloat(full);
      return (number.ok() && *number == 0) || (fraction.ok() && *fraction == 0);
    };
    if (Holds(kKnownKeys, key) || (Holds(kZeroOnlyKeys, key) && is_zero())) {
      continue;
    }
    return UnsupportedModel(
        fmt::format("key {} asks for something that this build does not compute",
                    SanitizeForDisplay(full, kShownKeyBytes)));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference
