// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd {

// What config.json of a Hugging Face model says, as far as a Dream or Qwen2 network needs it.
struct HfConfig {
  uint64_t vocabulary = 0;
  uint64_t context = 0;
  uint64_t width = 0;
  uint64_t ffn = 0;
  uint64_t layers = 0;
  uint64_t heads = 0;
  uint64_t kv_heads = 0;
  uint64_t head_size = 0;
  double rms_epsilon = 0;
  double rope_base = 0;
  bool tied = false;
  bool shift_logits = true;
  uint64_t block_length = 0;  // 0: not trained on block diffusion
  std::optional<uint64_t> bos, eos, pad, mask;
};

// MODEL_CORRUPT for a missing or impossible value, MODEL_UNSUPPORTED for another kind of network
// (model type, activation, RoPE scaling); the message names the key.
absl::StatusOr<HfConfig> ParseHfConfig(std::string_view text);

}  // namespace ruvd
