// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/reader.h"
#include "inference/tokenizer/piece_table.h"
#include "inference/tokenizer/pre_tokenizer.h"

namespace ruvd::inference {

using TokenId = uint32_t;

// tokenizer.ggml.token_type
enum class TokenKind : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

enum class TokenizerModel : uint8_t {
  kBytePair,       // "gpt2": byte-level byte-pair encoding
  kSentencePiece,  // "llama": SentencePiece's byte-pair encoding by score
};

// The tokenizer.ggml.* keys of a file, after checking.
struct Vocabulary {
  TokenizerModel model = TokenizerModel::kBytePair;
  PreTokenizerEntry pre{.kind = PreTokenizer::kDefault};  // kBytePair only
  // Both are indexed by id and have the same length. The pieces have the file's spelling until an
  // encoder replaces it by the bytes they stand for.
  PieceTable pieces;
  std::vector<TokenKind> kinds;
  std::vector<float> scores;             // kSentencePiece only; finite
  std::vector<std::string_view> merges;  // kBytePair only; valid as long as the file is open

  std::optional<TokenId> mask, eos, bos, pad, unknown, end_of_turn;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;     // kSentencePiece only
  bool remove_extra_spaces = false;  // kSentencePiece only
  std::string model_name;            // general.name
  std::string chat_template;         // "" if absent
  std::vector<std::string> warnings;

  bool IsKind(TokenId token, TokenKind kind) const { return kinds[token] == kind; }
};

// Tokens that have the text of a later token. Published files have some. The ids of both decode,
// and text is encoded as the later one.
class RepeatedTokens {
 public:
  // Notes that text is encoded as `used` and no longer as `former`.
  void Note(TokenId former, TokenId used);
  // Adds one warning about all of them, if there are any.
  void Warn(Vocabulary* vocabulary) const;

 private:
  size_t count_ = 0;
  TokenId former_ = 0;  // the first that was noted
  TokenId used_ = 0;
};

// TOKENIZER_INVALID for keys that are missing or contradict each other, for more or longer tokens
// and merges than limits.h allows, and for an unknown tokenizer model or pre-tokeniser: a wrong
// split would silently give wrong ids.
absl::StatusOr<Vocabulary> ReadVocabulary(const GgufReader& gguf);

}  // namespace ruvd::inference
