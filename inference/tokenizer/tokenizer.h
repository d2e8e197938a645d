// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"

namespace ruvd {

using TokenId = uint32_t;

// Byte-level byte-pair encoding (GGUF tokenizer model "gpt2") with the pre-tokenisers "gpt-2" (and
// "mpt", "olmo", "jais"), "qwen2" (and "deepseek-r1-qwen") and "llama-bpe". Gives the ids llama.cpp
// gives: no Unicode normalisation even where tokenizer.json asks for NFC, no token added at either
// end. One deliberate difference: bytes that are not UTF-8 are encoded as they are, not replaced,
// so that decoding gives back every text. Immutable and thread-safe.
class Tokenizer {
 public:
  // Reads the tokenizer.ggml.* keys. TOKENIZER_INVALID for a missing or inconsistent vocabulary,
  // another tokenizer model, or a pre-tokeniser we do not know: a wrong split would silently give
  // wrong ids.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromGguf(const GgufReader& gguf);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Text to ids in O(n log n). User-defined tokens in the text are always recognised, control
  // tokens such as "<|mask|>" only with `parse_special`: text of a user must not be able to forge
  // them.
  std::vector<TokenId> Encode(std::string_view text, bool parse_special = false) const;

  // The text of the ids; control tokens and ids outside the vocabulary are left out. The bytes are
  // joined unchanged, so a sequence cut inside a character gives invalid UTF-8: see Utf8Assembler.
  std::string Decode(std::span<const TokenId> tokens) const;

  // The raw bytes of a token; the spelling ("<|mask|>") for special ones; "" outside the
  // vocabulary.
  std::string_view Piece(TokenId token) const;

  // Control, unknown and unused tokens, which stand for no text.
  bool IsSpecial(TokenId token) const;

  std::optional<TokenId> mask_id() const;
  std::optional<TokenId> eos_id() const;
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> pad_id() const;

  // Number of tokens in the vocabulary.
  size_t size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ruvd
