// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// What the name of an architecture implies beyond the keys of its file (llama.cpp's conventions).
struct ArchitectureTraits {
  Architecture architecture = Architecture::kDream;
  std::string_view name;  // the prefix of the architecture's keys
  // predicts masked tokens and attends in both directions, whatever the file says
  bool diffusion = false;
  bool shifted = true;  // whether logits are shifted, for a diffusion model whose file does not say
  bool adjacent_pairs = false;  // whether RoPE rotates adjacent pairs
  bool head_norms = false;      // whether queries and keys are normed head by head
};

// Returns the constant traits of an architecture.
const ArchitectureTraits& TraitsOf(Architecture architecture);

// Returns "dream", "llada", "llama", "qwen2" or "qwen3".
std::string_view ArchitectureName(Architecture architecture);

// Reads the hyper-parameters by llama.cpp's key names. The size of the vocabulary is the number of
// rows of token_embd.weight. Errors: MODEL_UNSUPPORTED for another architecture, or, naming the
// key, for a key below the architecture's name that would change the result in a way this program
// does not compute; MODEL_CORRUPT for a missing key, a value of the wrong kind or out of range, or
// values that contradict each other.
absl::StatusOr<ModelConfig> ReadModelConfig(const GgufReader& gguf);

}  // namespace ruvd::inference
