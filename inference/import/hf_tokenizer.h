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

// A tokenizer in the form of GGUF's tokenizer.ggml.* keys.
struct HfTokenizer {
  std::string model = "gpt2";       // tokenizer.ggml.model; "llama" means SentencePiece
  std::string pre;                  // tokenizer.ggml.pre
  std::vector<std::string> tokens;  // by id; in GPT-2's alphabet, or for "llama" as text
  std::vector<int32_t> types;       // by id, HfTokenType
  std::vector<std::string> merges;  // "gpt2": "left right", most important first
  std::vector<float> scores;        // "llama": by id
  std::optional<uint64_t> unknown;  // "llama": the token for text that no other token stands for
  bool add_space_prefix = false;    // "llama": a text begins with a space
  bool add_bos = false;             // a text begins with the bos token
  std::string chat_template;        // not from tokenizer.json; see hf_tokenizer_config.h
};

// Reads tokenizer.json: either byte-level BPE, or BPE with byte_fallback, which was made from a
// SentencePiece model and is turned back into one (hf_sentence_piece.h). As in llama.cpp's
// converter, ids below `vocabulary` without a token become "[PADi]" of type unused, and a
// normaliser of byte-level BPE is ignored. TOKENIZER_INVALID for a model other than BPE, an unknown
// splitter, or ids that are repeated or too large.
absl::StatusOr<HfTokenizer> ParseHfTokenizer(std::string_view text, uint64_t vocabulary);

}  // namespace ruvd::inference
