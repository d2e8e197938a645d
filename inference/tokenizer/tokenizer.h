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
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

// A part of a text that mixes the program's own words with those of a user.
struct TextSegment {
  std::string text;
  bool trusted = false;  // control tokens spelled in it are recognised
};

// Byte-level byte-pair encoding (GGUF tokenizer model "gpt2") and SentencePiece's byte-pair
// encoding ("llama"). Gives the same ids as llama.cpp; in particular, text is not normalised even
// if tokenizer.json asks for NFC. There are two deliberate differences. Bytes that are not UTF-8
// are encoded as they are, not replaced, so that decoding gives back every text. Merging never
// results in a control token, so that a user's text cannot forge one. It is immutable and
// thread-safe.
class Tokenizer {
 public:
  // Reads the tokenizer.ggml.* keys. TOKENIZER_INVALID for a missing or inconsistent vocabulary,
  // another tokenizer model, or an unknown pre-tokeniser: a wrong split would silently give wrong
  // ids.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromGguf(const GgufReader& gguf);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Converts text to ids in O(n log n). User-defined tokens in the text are always recognised;
  // control tokens such as "<|mask|>" only with `parse_special`, so that a user's text cannot forge
  // them. No token is added at either end.
  std::vector<TokenId> Encode(std::string_view text, bool parse_special = false) const;

  // Encodes a text that begins a sequence to be continued: Encode, after the beginning-of-text
  // token if the file asks for one (add_bos_token). No token is added at the end, whatever the file
  // says.
  std::vector<TokenId> EncodePrompt(std::string_view text) const;
  // Does what EncodePrompt does, for segments.
  std::vector<TokenId> EncodePrompt(std::span<const TextSegment> segments) const;
  // Encodes a text that continues another one: Encode, without the space that SentencePiece puts
  // before a text.
  std::vector<TokenId> EncodeContinuation(std::string_view text) const;

  // Encodes the segments as one text, so a word may cross the border between two segments. Control
  // tokens are recognised only inside trusted segments. With `add_special` the beginning- and
  // end-of-text tokens are added if the file asks for them.
  std::vector<TokenId> EncodeSegments(std::span<const TextSegment> segments,
                                      bool add_special = false) const;

  // Returns the text of the ids. Control tokens and ids outside the vocabulary are left out. The
  // bytes are joined unchanged, so a sequence cut inside a character gives invalid UTF-8: see
  // Utf8Assembler. The space that SentencePiece puts before a text, and before text after a
  // user-defined token, is removed again.
  std::string Decode(std::span<const TokenId> tokens) const;

  // Returns the raw bytes of a token; the spelling ("<|mask|>") for special tokens; "" outside the
  // vocabulary.
  std::string_view Piece(TokenId token) const;

  // Returns true for control, unknown and unused tokens, which stand for no text.
  bool IsSpecial(TokenId token) const;
  // Returns whether this text is one control token if it is trusted, and is not recognised if it is
  // untrusted.
  bool IsControlText(std::string_view text) const;

  std::optional<TokenId> mask_id() const;
  std::optional<TokenId> eos_id() const;
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> pad_id() const;
  // Returns the token that ends a turn in a chat: the one that the file names (eot_token_id), else
  // a control token with a spelling that chat formats use ("<|im_end|>", "<|eot_id|>", "<|end|>").
  std::optional<TokenId> end_of_turn_id() const;

  // Returns the number of tokens in the vocabulary.
  size_t size() const;
  // Returns tokenizer.chat_template, or "" if the file has none.
  const std::string& chat_template() const;
  // Returns warnings for the user about how the file was read; usually empty.
  const std::vector<std::string>& warnings() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  // Appends the text that a token adds. `at_start`: a leading space, if any, is not part of the
  // text.
  void AppendText(TokenId token, bool* at_start, std::string* out) const;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ruvd::inference
