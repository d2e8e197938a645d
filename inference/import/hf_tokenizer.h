// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd {

// A byte-level BPE tokenizer in the terms of GGUF's tokenizer.ggml.* keys.
struct HfTokenizer {
  std::string pre;                  // tokenizer.ggml.pre
  std::vector<std::string> tokens;  // by id, in GPT-2's alphabet
  std::vector<int32_t> types;       // 1 normal, 3 control, 4 user-defined, 5 unused
  std::vector<std::string> merges;  // "left right", most important first
  bool add_bos = false;             // a text begins with the bos token
  std::string chat_template;        // not of tokenizer.json; see hf_tokenizer_config.h
};

// Reads tokenizer.json. Ids that have no token become "[PADi]" of type unused up to `vocabulary`,
// as in llama.cpp's converter. A normaliser is ignored, as there. TOKENIZER_INVALID for another
// model than BPE, an unknown splitter, or ids that are double or too large.
absl::StatusOr<HfTokenizer> ParseHfTokenizer(std::string_view text, uint64_t vocabulary);

}  // namespace ruvd
