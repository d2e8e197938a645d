// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// How the model reaches a longer context than the one it was trained on (config.json's
// rope_scaling).
struct HfRopeScaling {
  enum class Kind : uint8_t { kNone, kLinear, kYarn, kLlama3 };

  Kind kind = Kind::kNone;
  double factor = 1;
  uint64_t original_context = 0;               // yarn, llama3
  std::optional<double> beta_fast, beta_slow;  // yarn
  double low_freq_factor = 1;                  // llama3
  double high_freq_factor = 4;
};

// The content of config.json of a Hugging Face model, as far as the importable networks need it:
// one pre-norm transformer with RMSNorm, RoPE on half splits and SwiGLU, under several names.
struct HfConfig {
  // GGUF's name of the network: dream, llada, llama, qwen2 or qwen3.
  std::string architecture;
  // Tensors have the names of LLaDA's own code, not those of the Transformers library.
  bool llada_names = false;
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
  HfRopeScaling rope_scaling;
  uint64_t sliding_window = 0;  // 0 if there is no window
  bool tied = false;
  bool shift_logits = true;
  uint64_t block_length = 0;  // 0 if not trained for block diffusion
  std::optional<uint64_t> bos, eos, pad, mask;
  std::optional<uint64_t> end_of_turn;  // not from config.json; see hf_tokenizer_config.h
};

// Reads the text of a config.json of model_type Dream, llada, llama, mistral, qwen2 or qwen3.
// Errors name the key: MODEL_CORRUPT for a missing or impossible value, MODEL_UNSUPPORTED for
// another kind of network (model type, activation, biases, RoPE scaling).
absl::StatusOr<HfConfig> ParseHfConfig(std::string_view text);

}  // namespace ruvd::inference
