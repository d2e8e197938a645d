// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"

namespace ruvd {

// Reads the hyper-parameters of a "dream" or "qwen2" file by llama.cpp's key names. The vocabulary
// is the number of rows of token_embd.weight. Errors: MODEL_UNSUPPORTED for another architecture or
// a kind of RoPE we do not compute, MODEL_CORRUPT for a missing key, a value of the wrong kind or
// out of range, or values that contradict each other.
absl::StatusOr<ModelConfig> ReadModelConfig(const GgufReader& gguf);

// "dream" or "qwen2": the prefix of the architecture's keys.
std::string_view ArchitectureName(Architecture architecture);

}  // namespace ruvd
