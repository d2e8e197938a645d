// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/sentence_piece.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/tokenizer/limits.h"

namespace ruvd::inference {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid, format,
               std::forward<Args>(args)...);
}

std::string WithSpaces(std::string_view piece) {
  std::string out;
  for (size_t at = piece.find(kSpaceMark); at != std::string_view::npos;
       at = piece.find(kSpaceMark)) {
    out += piece.substr(0, at);
    out += ' ';
    piece.remove_prefix(at + kSpaceMark.size());
  }
  return out += piece;
}

size_t FirstLength(std::string_view text) {
  const Utf8Char next = FirstUtf8Char(text);
  return next.state == Utf8Char::State::kValid ? next.length : 1;
}

uint64_t CharactersOf(std::string_view text) {
  uint64_t count = 0;
  for (; !text.empty(); text.remove_prefix(FirstLength(text))) {
    ++count;
  }
  return count;
}

}  // namespace

SentencePieceEncoder::SentencePieceEncoder(const Vocabulary& vocabulary)
    : add_space_prefix_(vocabulary.add_space_prefix),
      remove_extra_spaces_(vocabulary.remove_extra_spaces),
      unused_(vocabulary.pieces.size()),
      whole_word_(vocabulary.pieces.size()),
      unknown_(vocabulary.unknown) {}

absl::StatusOr<std::unique_ptr<SentencePieceEncoder>> SentencePieceEncoder::Create(
    Vocabulary* vocabulary) {
  std::unique_ptr<SentencePieceEncoder> out(new SentencePieceEncoder(*vocabulary));
  RETURN_IF_ERROR(out->AddPieces(vocabulary));
  for (uint32_t c = 0; c < out->ascii_.size(); ++c) {
    const char text = static_cast<char>(c);
    out->ascii_.at(c) = out->pieces_.Find({&text, 1}).value_or(kCharacters + c);
  }
  RETURN_IF_ERROR(out->AddMerges(*vocabulary));
  out->FindWholeWords(*vocabulary);
  return out;
}

absl::Status SentencePieceEncoder::AddPieces(Vocabulary* vocabulary) {
  PieceTable pieces;
  RepeatedTokens repeated;
  for (TokenId id = 0; id < vocabulary->pieces.size(); ++id) {
    const std::string_view spelling = vocabulary->pieces[id];
    if (vocabulary->IsKind(id, TokenKind::kByte)) {
      RETURN_IF_ERROR(AddByteToken(id, spelling, &pieces, &repeated));
      continue;
    }
    const bool unused = vocabulary->IsKind(id, TokenKind::kUnused);
    // In a SentencePiece spelling a space is U+2581, so a piece with a plain space can never match.
    const bool merges = (unused || vocabulary->IsKind(id, TokenKind::kNormal)) &&
                        !spelling.empty() && spelling.find(' ') == std::string_view::npos;
    pieces.Add(merges ? WithSpaces(spelling) : spelling);
    if (merges) {
      RETURN_IF_ERROR(AddPiece(id, std::string(pieces[id]), unused, &repeated));
    }
  }
  repeated.Warn(vocabulary);
  pieces.Shrink();
  pieces_.Shrink();
  vocabulary->pieces = std::move(pieces);
  return absl::OkStatus();
}

absl::Status SentencePieceEncoder::AddPiece(TokenId id, const std::string& piece, bool unused,
                                            RepeatedTokens* repeated) {
  if (piece.size() > limits::kMaxSentencePieceBytes) {
    return Invalid("piece {} has {} bytes, more than the limit of {}", id, piece.size(),
                   limits::kMaxSentencePieceBytes);
  }
  if (const auto former = pieces_.Set(piece, id)) {
    repeated->Note(*former, id);
  }
  if (unused) {
    unused_[id] = true;
    text_.emplace(id, piece);
  }
  for (size_t at = piece.find(' ', 1); at != std::string::npos; at = piece.find(' ', at + 1)) {
    joins_space_.at(static_cast<uint8_t>(piece[at - 1])) |= piece[at - 1] != ' ';
  }
  return absl::OkStatus();
}

absl::Status SentencePieceEncoder::AddByteToken(TokenId id, std::string_view spelling,
                                                PieceTable* pieces, RepeatedTokens* repeated) {
  uint8_t byte = 0;
  const bool spelled =
      spelling.size() == 6 && spelling.starts_with("<0x") && spelling.back() == '>';
  const char* const digits = spelling.data() + 3;
  if (!spelled || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
    return Invalid("byte token {} is not spelled like <0x41>; convert the model again", id);
  }
  std::optional<TokenId>& token = byte_tokens_.at(byte);
  if (token && spelling == fmt::format("<0x{:02X}>", byte)) {
    repeated->Note(*token, id);
    token = id;
  }
  token = token.value_or(id);
  const char raw = static_cast<char>(byte);
  pieces->Add({&raw, 1});
  return absl::OkStatus();
}

bool SentencePieceEncoder::Merges(const Vocabulary& vocabulary, TokenId id) const {
  return (unused_[id] || vocabulary.IsKind(id, TokenKind::kNormal)) &&
         pieces_.Find(vocabulary.pieces[id]) == id;
}

absl::Status SentencePieceEncoder::AddMerges(const Vocabulary& vocabulary) {
  std::vector<float> scores;  // scores of the pieces that merge, highest first, without repeats
  uint64_t cuts = 0;
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    if (Merges(vocabulary, id)) {
      scores.push_back(vocabulary.scores[id]);
      cuts += CharactersOf(vocabulary.pieces[id]) - 1;
    }
  }
  if (cuts > limits::kMaxVocabularyMerges) {
    return Invalid("the pieces can be cut at {} places, more than the limit of {}", cuts,
                   limits::kMaxVocabularyMerges);
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    if (Merges(vocabulary, id)) {
      const auto rank =
          std::lower_bound(scores.begin(), scores.end(), vocabulary.scores[id], std::greater<>()) -
          scores.begin();
      AddMergesOf(id, vocabulary.pieces[id], static_cast<uint32_t>(rank));
    }
  }
  return absl::OkStatus();
}

// Adds a merge for every cut of a piece into two parts that can be neighbours during merging.
void SentencePieceEncoder::AddMergesOf(TokenId id, std::string_view piece, uint32_t rank) {
  for (size_t at = FirstLength(piece); at < piece.size(); at += FirstLength(piece.substr(at))) {
    const auto left = SymbolOf(piece.substr(0, at));
    const auto right = left ? SymbolOf(piece.substr(at)) : std::nullopt;
    if (right) {
      merges_.Add(*left, *right, {rank, id});
    }
  }
}

void SentencePieceEncoder::FindWholeWords(const Vocabulary& vocabulary) {
  EncodeWorkspace workspace;
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    if (Merges(vocabulary, id) && !unused_[id]) {
      SymbolsOf(vocabulary.pieces[id], &workspace.symbols);
      merges_.Apply(&workspace.symbols, &workspace.merging);
      whole_word_[id] = workspace.symbols.size() == 1;
    }
  }
}

std::pair<SentencePieceEncoder::Symbol, size_t> SentencePieceEncoder::FirstSymbol(
    std::string_view text) const {
  const auto byte = static_cast<uint8_t>(text[0]);
  if (byte < ascii_.size()) {
    return {ascii_.at(byte), 1};
  }
  const Utf8Char next = FirstUtf8Char(text);
  if (next.state != Utf8Char::State::kValid) {
    return {pieces_.Find(text.substr(0, 1)).value_or(kBytes + byte), 1};
  }
  return {pieces_.Find(text.substr(0, next.length)).value_or(kCharacters + next.code_point),
          next.length};
}

void SentencePieceEncoder::SymbolsOf(std::string_view text, std::vector<Symbol>* out) const {
  out->clear();
  while (!text.empty()) {
    const auto [symbol, length] = FirstSymbol(text);
    out->push_back(symbol);
    text.remove_prefix(length);
  }
}

std::optional<SentencePieceEncoder::Symbol> SentencePieceEncoder::SymbolOf(
    std::string_view text) const {
  if (const auto piece = pieces_.Find(text)) {
    return piece;
  }
  return FirstLength(text) == text.size() ? std::optional(FirstSymbol(text).first) : std::nullopt;
}

size_t SentencePieceEncoder::WordEnd(std::string_view text) const {
  size_t at = std::min(text.find_first_not_of(' '), text.size());
  do {
    at = std::min(text.find(' ', at), text.size());
    if (at == text.size() || !joins_space_.at(static_cast<uint8_t>(text[at - 1]))) {
      return at;
    }
    at = std::min(text.find_first_not_of(' ', at), text.size());
  } while (true);
}

std::string_view SentencePieceEncoder::Normalized(std::string_view text, bool at_start,
                                                  std::string* buffer) const {
  const bool prefix = at_start && add_space_prefix_;
  const bool marks = text.find(kSpaceMark) != std::string_view::npos;
  if (!prefix && !marks && !remove_extra_spaces_) {
    return text;
  }
  *buffer = prefix ? " " : "";
  *buffer += marks ? WithSpaces(text) : text;
  if (!remove_extra_spaces_) {
    return *buffer;
  }
  buffer->erase(buffer->find_last_not_of(' ') + 1);
  const auto extra = [](char a, char b) { return a == ' ' && b == ' '; };
  buffer->erase(std::unique(buffer->begin(), buffer->end(), extra), buffer->end());
  // A space at the beginning stays only if it serves as the prefix. In a continuation it separates
  // two words.
  const bool strip = at_start && !prefix && buffer->starts_with(' ');
  return std::string_view(*buffer).substr(strip ? 1 : 0);
}

void SentencePieceEncoder::Append(std::string_view text, bool at_start, EncodeWorkspace* workspace,
                                  std::vector<TokenId>* out) const {
  std::string_view rest = Normalized(text, at_start, &workspace->text);
  while (!rest.empty()) {
    const size_t end = WordEnd(rest);
    EncodeWord(rest.substr(0, end), workspace, out);
    rest.remove_prefix(end);
  }
}

void SentencePieceEncoder::EncodeWord(std::string_view word, EncodeWorkspace* workspace,
                                      std::vector<TokenId>* out) const {
  if (word.size() <= limits::kMaxSentencePieceBytes) {
    if (const auto piece = pieces_.Find(word); piece && whole_word_[*piece]) {
      out->push_back(*piece);
      return;
    }
  }
  SymbolsOf(word, &workspace->symbols);
  merges_.Apply(&workspace->symbols, &workspace->merging);
  for (const Symbol symbol : workspace->symbols) {
    Emit(symbol, workspace, out);
  }
}

void SentencePieceEncoder::Emit(Symbol symbol, EncodeWorkspace* workspace,
                                std::vector<TokenId>* out) const {
  if (symbol >= kCharacters) {
    EmitCharacter(symbol, out);
    return;
  }
  if (!unused_[symbol]) {
    out->push_back(symbol);
    return;
  }
  // An unused piece is replaced by the encoding of its text in which merging may not result in that
  // piece. The parts may be unused too, so they go onto a stack; the last part lies on top.
  std::vector<Symbol>& stack = workspace->pending;
  stack.assign(1, symbol);
  std::vector<Symbol>& parts = workspace->parts;
  while (!stack.empty()) {
    const Symbol next = stack.back();
    stack.pop_back();
    if (next >= kCharacters || !unused_[next]) {
      next >= kCharacters ? EmitCharacter(next, out) : out->push_back(next);
      continue;
    }
    const std::string& text = text_.at(next);
    if (FirstLength(text) == text.size()) {
      const Utf8Char only = FirstUtf8Char(text);
      const bool valid = only.state == Utf8Char::State::kValid;
      EmitCharacter(valid ? kCharacters + only.code_point : kBytes + static_cast<uint8_t>(text[0]),
                    out);
      continue;
    }
    SymbolsOf(text, &parts);
    merges_.Apply(&parts, &workspace->merging, /*forbidden=*/next);
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
}

void SentencePieceEncoder::EmitCharacter(Symbol symbol, std::vector<TokenId>* out) const {
  const std::string bytes = symbol >= kBytes ? std::string(1, static_cast<char>(symbol - kBytes))
                                             : Utf8Of(symbol - kCharacters);
  const bool complete = std::all_of(bytes.begin(), bytes.end(), [this](char c) {
    return byte_tokens_.at(static_cast<uint8_t>(c)).has_value();
  });
  if (complete) {
    for (const char c : bytes) {
      out->push_back(*byte_tokens_.at(static_cast<uint8_t>(c)));
    }
  } else if (unknown_) {
    out->push_back(*unknown_);
  }
}

}  // namespace ruvd::inference
