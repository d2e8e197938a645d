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
// concatenation is a piece merge, the highest score first, the leftmost on ties. Immutable and
// thread-safe.
//
// Merging never results in a control, unknown, user-defined or byte token, however the text is
// spelled. A piece marked as unused takes part in merging but is cut apart again in the result.
// Characters that are no piece become byte tokens, or the unknown token where those are missing.
class SentencePieceEncoder final : public TextEncoder {
 public:
  // Turns the pieces of `vocabulary` from their spelling into the bytes they stand for: U+2581 into
  // a space, "<0x41>" into the byte. TOKENIZER_INVALID where two pieces are alike, one is too long,
  // all together have too many cuts or a byte token is misspelled.
  static absl::StatusOr<std::unique_ptr<SentencePieceEncoder>> Create(Vocabulary* vocabulary);

  // O(n log n), and nearly linear where no piece goes across the beginning of a word. Puts a space
  // before the text at a start, and joins runs of spaces, where the vocabulary says so.
  void Append(std::string_view text, bool at_start, EncodeWorkspace* workspace,
              std::vector<TokenId>* out) const override;

 private:
  using Symbol = MergeTable::Symbol;
  // Symbols are token ids and, from here on, characters that are no piece: kCharacters + code
  // point, or kBytes + byte for what is not UTF-8.
  static constexpr Symbol kCharacters = 1U << 30;
  static constexpr Symbol kBytes = kCharacters + (1U << 29);

  explicit SentencePieceEncoder(const Vocabulary& vocabulary);
  absl::Status AddPieces(Vocabulary* vocabulary);
  absl::Status AddByteToken(TokenId id, std::string_view spelling, PieceTable* pieces);
  absl::Status AddPiece(TokenId id, const std::string& piece, bool unused);
  // Whether merging may result in the token.
  bool Merges(const Vocabulary& vocabulary, TokenId id) const;
  absl::Status AddMerges(const Vocabulary& vocabulary);
  void AddMergesOf(TokenId id, std::string_view piece, uint32_t rank);
  void FindWholeWords(const Vocabulary& vocabulary);

  // The text with spaces as the vocabulary wants them; may be kept in `buffer`.
  std::string_view Normalized(std::string_view text, bool at_start, std::string* buffer) const;
  // The first character of a text as a symbol, and its length.
  std::pair<Symbol, size_t> FirstSymbol(std::string_view text) const;
  void SymbolsOf(std::string_view text, std::vector<Symbol>* out) const;
  // The symbol of a text that is a piece or one character.
  std::optional<Symbol> SymbolOf(std::string_view text) const;
  // Where the word that starts a text ends; nothing merges across that place.
  size_t WordEnd(std::string_view text) const;
  void EncodeWord(std::string_view word, EncodeWorkspace* workspace,
                  std::vector<TokenId>* out) const;
  void Emit(Symbol symbol, EncodeWorkspace* workspace, std::vector<TokenId>* out) const;
  void EmitCharacter(Symbol symbol, std::vector<TokenId>* out) const;

  bool add_space_prefix_;
  bool remove_extra_spaces_;
  WordTable pieces_;  // those that merge
  std::array<Symbol, 128> ascii_{};
  std::vector<bool> unused_;                       // by token
  std::vector<bool> whole_word_;                   // by token: its text encodes as itself
  std::unordered_map<TokenId, std::string> text_;  // of the unused tokens
  std::array<std::optional<TokenId>, 256> byte_tokens_;
  std::optional<TokenId> unknown_;
  std::array<bool, 256> joins_space_{};  // last bytes of characters that have a space behind them
  MergeTable merges_;
};

}  // namespace ruvd::inference
