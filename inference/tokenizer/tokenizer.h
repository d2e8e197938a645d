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

// A part of a text that consists of the program's own words and of a user's.
struct TextSegment {
  std::string text;
  bool trusted = false;  // control tokens spelled in it are meant
};

// Byte-level byte-pair encoding (GGUF tokenizer model "gpt2") and SentencePiece's byte-pair
// encoding
// ("llama"). Gives the ids llama.cpp gives: no Unicode normalisation even where tokenizer.json asks
// for NFC. Two deliberate differences: bytes that are not UTF-8 are encoded as they are, not
// replaced, so that decoding gives back every text; and merging never results in a control token,
// so that the text of a user cannot forge one. Immutable and thread-safe.
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
  // them. No token is added at either end.
  std::vector<TokenId> Encode(std::string_view text, bool parse_special = false) const;

  // A text from its beginning, to be gone on with: Encode, behind the beginning-of-text token where
  // the file says so (add_bos_token). Nothing is added at the end whatever the file says.
  std::vector<TokenId> EncodePrompt(std::string_view text) const;
  // The same of segments.
  std::vector<TokenId> EncodePrompt(std::span<const TextSegment> segments) const;
  // A text that goes on from another one: Encode, without the space that SentencePiece puts before
  // a text.
  std::vector<TokenId> EncodeContinuation(std::string_view text) const;

  // The segments' ids as one text, so that words may go across a border between two segments;
  // control tokens are recognised inside trusted segments only. With `add_special` the beginning-
  // and end-of-text tokens are added where the file says so.
  std::vector<TokenId> EncodeSegments(std::span<const TextSegment> segments,
                                      bool add_special = false) const;

  // The text of the ids; control tokens and ids outside the vocabulary are left out. The bytes are
  // joined unchanged, so a sequence cut inside a character gives invalid UTF-8: see StreamDecoder.
  // The space that SentencePiece puts before a text, and before text behind a user-defined token,
  // is taken away again.
  std::string Decode(std::span<const TokenId> tokens) const;

  // The raw bytes of a token; the spelling ("<|mask|>") for special ones; "" outside the
  // vocabulary.
  std::string_view Piece(TokenId token) const;

  // Control, unknown and unused tokens, which stand for no text.
  bool IsSpecial(TokenId token) const;
  // Whether trusted text spelled like this is one control token, and other text never is.
  bool IsControlText(std::string_view text) const;

  std::optional<TokenId> mask_id() const;
  std::optional<TokenId> eos_id() const;
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> pad_id() const;
  // Ends what the model says in a chat: the token that the file names (eot_token_id), else a
  // control token spelled as chat formats spell it ("<|im_end|>", "<|eot_id|>", "<|end|>").
  std::optional<TokenId> end_of_turn_id() const;

  // Number of tokens in the vocabulary.
  size_t size() const;
  // tokenizer.chat_template, or "".
  const std::string& chat_template() const;
  // What a user should know of how the file was read; usually empty.
  const std::vector<std::string>& warnings() const;

 private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  // Appends what a token adds to a text. `at_start`: a leading space, if any, is not part of it.
  void AppendText(TokenId token, bool* at_start, std::string* out) const;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ruvd::inference
