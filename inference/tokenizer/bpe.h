// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/tokenizer/merge_table.h"
#include "inference/tokenizer/text_encoder.h"
#include "inference/tokenizer/vocabulary.h"
#include "inference/tokenizer/word_table.h"

namespace ruvd::inference {

// Byte-pair merging (Sennrich et al. 2016, arXiv 1508.07909) with ranked merges over raw bytes. It
// is immutable and thread-safe.
class BytePairMerges {
 public:
  // `ids` maps the raw bytes of each token to its id. `merges` are "left right" in GPT-2's
  // alphabet, most important first. TOKENIZER_INVALID if a line does not have this form.
  static absl::StatusOr<BytePairMerges> Create(const WordTable& ids,
                                               std::span<const std::string_view> merges);

  // Appends the ids of a word, in O(n log n). If a merged piece is not a token, the tokens of its
  // bytes are appended instead; a byte without a token is skipped.
  void Encode(std::string_view word, EncodeWorkspace* workspace, std::vector<TokenId>* out) const;

 private:
  // Merging works on numbered byte strings: first the 256 single bytes, then those that occur in
  // merges.
  using Symbol = MergeTable::Symbol;
  static constexpr TokenId kNoToken = UINT32_MAX;
  void AppendBytes(std::string_view bytes, std::vector<TokenId>* out) const;

  std::vector<TokenId> tokens_;  // by symbol; kNoToken if it is not in the vocabulary
  std::unordered_map<Symbol, std::string> tokenless_;  // bytes of each symbol without a token
  MergeTable merges_;
};

// Byte-level BPE: the pre-tokeniser cuts the text into words, and each word is merged on its own.
class BytePairEncoder final : public TextEncoder {
 public:
  // Replaces the spelling of the normal pieces of `vocabulary` by raw bytes, and takes its merges.
  // If pieces are equal, the last is used, with a warning. Fails as BytePairMerges::Create does.
  static absl::StatusOr<std::unique_ptr<BytePairEncoder>> Create(Vocabulary* vocabulary);

  void Append(std::string_view text, bool at_start, EncodeWorkspace* workspace,
              std::vector<TokenId>* out) const override;

 private:
  BytePairEncoder(PreTokenizer splitter, WordTable ids, BytePairMerges merges);
  void FindWholeWords(const Vocabulary& vocabulary);

  PreTokenizer splitter_;
  WordTable ids_;
  BytePairMerges merges_;
  std::vector<bool> whole_word_;  // by token: encoding its bytes gives the token itself
};

}  // namespace ruvd::inference
