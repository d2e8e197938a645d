// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/tokenizer/merge_table.h"
#include "inference/tokenizer/text_encoder.h"
#include "inference/tokenizer/vocabulary.h"
#include "inference/tokenizer/word_table.h"

namespace ruvd::inference {

// SentencePiece's byte-pair encoding (Kudo and Richardson 2018, arXiv 1808.06226): neighbours whose
// concatenation is a piece merge, the pair with the highest score first and the leftmost of equal
// scores. It is immutable and thread-safe.
//
// Merging never results in a control, unknown, user-defined or byte token, however the text is
// spelled. A piece marked as unused takes part in merging but is cut apart again in the result. A
// character that is not a piece becomes byte tokens, or the unknown token if the vocabulary has no
// byte tokens.
class SentencePieceEncoder final : public TextEncoder {
 public:
  // Replaces the spelling of the pieces of `vocabulary` by the bytes they stand for: U+2581 by a
  // space, "<0x41>" by the byte. If pieces are equal, the last is used, with a warning.
  // TOKENIZER_INVALID if a piece is too long, all pieces together have too many cuts, or a byte
  // token is misspelled.
  static absl::StatusOr<std::unique_ptr<SentencePieceEncoder>> Create(Vocabulary* vocabulary);

  // Takes O(n log n), and nearly linear time if no piece crosses the beginning of a word. If the
  // vocabulary says so, puts a space before the text at a start and joins runs of spaces.
  void Append(std::string_view text, bool at_start, EncodeWorkspace* workspace,
              std::vector<TokenId>* out) const override;

 private:
  using Symbol = MergeTable::Symbol;
  // A symbol below kCharacters is a token id. The others are characters without a piece:
  // kCharacters + code point, or kBytes + byte if the byte is not valid UTF-8.
  static constexpr Symbol kCharacters = 1U << 30;
  static constexpr Symbol kBytes = kCharacters + (1U << 29);

  explicit SentencePieceEncoder(const Vocabulary& vocabulary);
  absl::Status AddPieces(Vocabulary* vocabulary);
  absl::Status AddByteToken(TokenId id, std::string_view spelling, PieceTable* pieces,
                            RepeatedTokens* repeated);
  absl::Status AddPiece(TokenId id, const std::string& piece, bool unused,
                        RepeatedTokens* repeated);
  // Returns whether merging may result in the token.
  bool Merges(const Vocabulary& vocabulary, TokenId id) const;
  absl::Status AddMerges(const Vocabulary& vocabulary);
  void AddMergesOf(TokenId id, std::string_view piece, uint32_t rank);
  void FindWholeWords(const Vocabulary& vocabulary);

  // Returns the text with spaces as the vocabulary wants them. The result may point into `buffer`.
  std::string_view Normalized(std::string_view text, bool at_start, std::string* buffer) const;
  // Returns the first character of a text as a symbol, and its length in bytes.
  std::pair<Symbol, size_t> FirstSymbol(std::string_view text) const;
  void SymbolsOf(std::string_view text, std::vector<Symbol>* out) const;
  // Returns the symbol of a text that is a piece or a single character.
  std::optional<Symbol> SymbolOf(std::string_view text) const;
  // Returns where the first word of a text ends. No piece crosses that place.
  size_t WordEnd(std::string_view text) const;
  void EncodeWord(std::string_view word, EncodeWorkspace* workspace,
                  std::vector<TokenId>* out) const;
  void Emit(Symbol symbol, EncodeWorkspace* workspace, std::vector<TokenId>* out) const;
  void EmitCharacter(Symbol symbol, std::vector<TokenId>* out) const;

  bool add_space_prefix_;
  bool remove_extra_spaces_;
  WordTable pieces_;  // the pieces that merge
  std::array<Symbol, 128> ascii_{};
  std::vector<bool> unused_;      // by token
  std::vector<bool> whole_word_;  // by token: encoding its text gives the token itself
  std::unordered_map<TokenId, std::string> text_;  // texts of the unused tokens
  std::array<std::optional<TokenId>, 256> byte_tokens_;
  std::optional<TokenId> unknown_;
  // last bytes of characters that may be followed by a space within a piece
  std::array<bool, 256> joins_space_{};
  MergeTable merges_;
};

}  // namespace ruvd::inference
