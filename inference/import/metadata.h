// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inference/gguf/writer.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_tokenizer.h"

namespace ruvd::inference {

// The metadata of an imported model, with llama.cpp's keys and our ruvd.block_length.

// Writes general.* and the hyper-parameters below `architecture`, which is one of GGUF's names.
void WriteHyperParameters(const HfConfig& config, const std::string& architecture,
                          uint32_t file_type, std::string_view name, GgufWriter* out);

// Writes tokenizer.ggml.*, with the special ids from the configuration.
void WriteTokenizer(const HfTokenizer& tokenizer, const HfConfig& config, GgufWriter* out);

}  // namespace ruvd::inference
