// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// tokenizer.ggml.token_type
enum HfTokenType : int32_t {
  kHfNormal = 1,
  kHfUnknown = 2,
  kHfControl = 3,
  kHfUserDefined = 4,
  kHfUnused = 5,
  kHfByte = 6,
};

// A tokenizer in the terms of GGUF's tokenizer.ggml.* keys.
struct HfTokenizer {
  std::string model = "gpt2";       // tokenizer.ggml.model; "llama" is SentencePiece
  std::string pre;                  // tokenizer.ggml.pre
  std::vector<std::string> tokens;  // by id; in GPT-2's alphabet or, of "llama", as text
  std::vector<int32_t> types;       // by id, HfTokenType
  std::vector<std::string> merges;  // "gpt2": "left right", most important first
  std::vector<float> scores;        // "llama": by id
  std::optional<uint64_t> unknown;  // "llama": the token for what no other stands for
  bool add_space_prefix = false;    // "llama": a text begins with a space
  bool add_bos = false;             // a text begins with the bos token
  std::string chat_template;        // not of tokenizer.json; see hf_tokenizer_config.h
};

// Reads tokenizer.json: byte-level BPE, and BPE with byte_fallback, which was made of a
// SentencePiece model and becomes one again (hf_sentence_piece.h). Ids that have no token become
// "[PADi]" of type unused up to `vocabulary`, as in llama.cpp's converter. A normaliser of
// byte-level BPE is ignored, as there. TOKENIZER_INVALID for another model than BPE, an unknown
// splitter, or ids that are double or too large.
absl::StatusOr<HfTokenizer> ParseHfTokenizer(std::string_view text, uint64_t vocabulary);

}  // namespace ruvd::inference
