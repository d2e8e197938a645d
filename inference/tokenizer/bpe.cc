// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/bpe.h"

#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/tokenizer/byte_alphabet.h"

namespace ruvd::inference {
namespace {

absl::Status BadMerge(std::string_view line, size_t rank) {
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid,
               "tokenizer merge {} (\"{}\") is not two pieces with a space between; convert the "
               "model again",
               rank, SanitizeForDisplay(line));
}

}  // namespace

absl::StatusOr<BytePairMerges> BytePairMerges::Create(const WordTable& ids,
                                                      std::span<const std::string_view> merges) {
  BytePairMerges out;
  WordTable symbols;
  const auto intern = [&](const std::string& bytes) {
    const auto next = static_cast<Symbol>(out.tokens_.size());
    if (!symbols.Add(bytes, next)) {
      return *symbols.Find(bytes);
    }
    out.tokens_.push_back(ids.Find(bytes).value_or(kNoToken));
    if (out.tokens_.back() == kNoToken) {
      out.tokenless_.emplace(next, bytes);
    }
    return next;
  };
  for (int byte = 0; byte < 256; ++byte) {
    intern(std::string(1, static_cast<char>(byte)));
  }
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view line = merges[rank];
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos) {
      return BadMerge(line, rank);
    }
    const auto left = BytesOfSpelling(line.substr(0, space));
    const auto right = BytesOfSpelling(line.substr(space + 1));
    if (!left || !right || left->empty() || right->empty()) {
      return BadMerge(line, rank);
    }
    const Symbol left_symbol = intern(*left);
    const Symbol right_symbol = intern(*right);
    // If a pair is listed twice, its first and better rank counts.
    out.merges_.Add(left_symbol, right_symbol,
                    {static_cast<uint32_t>(rank), intern(*left + *right)});
  }
  out.tokens_.shrink_to_fit();
  return out;
}

void BytePairMerges::Encode(std::string_view word, EncodeWorkspace* workspace,
                            std::vector<TokenId>* out) const {
  std::vector<Symbol>& symbols = workspace->symbols;
  symbols.assign(reinterpret_cast<const uint8_t*>(word.data()),
                 reinterpret_cast<const uint8_t*>(word.data()) + word.size());
  merges_.Apply(&symbols, &workspace->merging);
  for (const Symbol symbol : symbols) {
    if (tokens_[symbol] != kNoToken) {
      out->push_back(tokens_[symbol]);
    } else {
      AppendBytes(tokenless_.at(symbol), out);
    }
  }
}

void BytePairMerges::AppendBytes(std::string_view bytes, std::vector<TokenId>* out) const {
  for (const char c : bytes) {
    if (const uint32_t token = tokens_[static_cast<uint8_t>(c)]; token != kNoToken) {
      out->push_back(token);
    }
  }
}

BytePairEncoder::BytePairEncoder(PreTokenizer splitter, WordTable ids, BytePairMerges merges)
    : splitter_(splitter), ids_(std::move(ids)), merges_(std::move(merges)) {}

absl::StatusOr<std::unique_ptr<BytePairEncoder>> BytePairEncoder::Create(Vocabulary* vocabulary) {
  PieceTable pieces;
  WordTable ids;
  RepeatedTokens repeated;
  for (TokenId id = 0; id < vocabulary->pieces.size(); ++id) {
    const std::string_view spelling = vocabulary->pieces[id];
    if (!vocabulary->IsKind(id, TokenKind::kNormal)) {
      pieces.Add(spelling);
      continue;  // found as a whole word or not at all
    }
    // A spelling with characters outside the alphabet cannot come from bytes. It stays as written,
    // and no text is encoded as it.
    const auto bytes = BytesOfSpelling(spelling);
    pieces.Add(bytes ? std::string_view(*bytes) : spelling);
    if (const auto former = bytes ? ids.Set(*bytes, id) : std::nullopt) {
      repeated.Note(*former, id);
    }
  }
  repeated.Warn(vocabulary);
  pieces.Shrink();
  ids.Shrink();
  vocabulary->pieces = std::move(pieces);
  ASSIGN_OR_RETURN(BytePairMerges merges, BytePairMerges::Create(ids, vocabulary->merges));
  vocabulary->merges = {};
  std::unique_ptr<BytePairEncoder> out(
      new BytePairEncoder(vocabulary->pre.kind, std::move(ids), std::move(merges)));
  out->FindWholeWords(*vocabulary);
  return out;
}

// Most words of a text are tokens. Where merging is known to give exactly that token, it can be
// skipped.
void BytePairEncoder::FindWholeWords(const Vocabulary& vocabulary) {
  whole_word_.assign(vocabulary.pieces.size(), false);
  EncodeWorkspace workspace;
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    if (!vocabulary.IsKind(id, TokenKind::kNormal)) {
      continue;
    }
    if (!vocabulary.pre.ignore_merges) {
      ids.clear();
      merges_.Encode(vocabulary.pieces[id], &workspace, &ids);
    }
    whole_word_[id] = vocabulary.pre.ignore_merges || (ids.size() == 1 && ids[0] == id);
  }
}

void BytePairEncoder::Append(std::string_view text, bool /*at_start*/, EncodeWorkspace* workspace,
                             std::vector<TokenId>* out) const {
  WordSplitter words(splitter_, text);
  for (std::string_view word; words.Next(&word);) {
    if (const auto token = ids_.Find(word); token && whole_word_[*token]) {
      out->push_back(*token);
    } else {
      merges_.Encode(word, workspace, out);
    }
  }
}

}  // namespace ruvd::inference
