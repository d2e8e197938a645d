// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// What the name of an architecture implies beyond its file's keys (llama.cpp's conventions).
struct ArchitectureTraits {
  Architecture architecture = Architecture::kDream;
  std::string_view name;   // the prefix of its keys
  bool diffusion = false;  // predicts masked tokens, sees both directions whatever the file says
  bool shifted = true;     // of a diffusion model whose file does not say
  bool adjacent_pairs = false;  // RoPE's layout
  bool head_norms = false;      // norms of queries' and keys' heads
};

// Constant; one for each Architecture.
const ArchitectureTraits& TraitsOf(Architecture architecture);

// "dream", "llada", "llama", "qwen2" or "qwen3".
std::string_view ArchitectureName(Architecture architecture);

// Reads the hyper-parameters by llama.cpp's key names. The vocabulary is the number of rows of
// token_embd.weight. Errors: MODEL_UNSUPPORTED for another architecture, or a key below the
// architecture's name that would change the result in a way we do not compute, by its name;
// MODEL_CORRUPT for a missing key, a value of the wrong kind or out of range, or values that
// contradict each other.
absl::StatusOr<ModelConfig> ReadModelConfig(const GgufReader& gguf);

}  // namespace ruvd::inference
