// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_cutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/limits.h"

namespace ruvd::learning {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";
// A longer text has more tokens than any lesson, so that it need not be encoded to know it.
constexpr size_t kMostBytesPerToken = 64;

absl::Status Unreadable(std::string_view message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable, "{}", message);
}

// Refuses what is not text.
absl::Status CheckText(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    return Unreadable("it is UTF-16; save it as UTF-8");
  }
  size_t controls = 0;
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Char character = FirstUtf8Char(bytes.substr(i));
    if (bytes[i] == '\0') {
      return Unreadable(
          fmt::format("byte {} is zero, so it is no text; convert it to text first", i));
    }
    if (character.state != Utf8Char::State::kValid) {
      return Unreadable(fmt::format("byte {} is not UTF-8; save it as UTF-8", i));
    }
    const bool control = character.code_point < 0x20 && kBlanks.find(bytes[i]) == kBlanks.npos;
    controls += control ? 1 : 0;
    i += character.length;
  }
  constexpr size_t kTextHasOneControlIn = 100;
  if (controls * kTextHasOneControlIn > bytes.size()) {
    return Unreadable(fmt::format(
        "{} of its {} bytes are control characters, so it is no text; convert it to text first",
        controls, bytes.size()));
  }
  return absl::OkStatus();
}

// Returns the text with "\n" at the end of lines, without blanks before them, and with at most one
// blank line between paragraphs.
std::string Normalised(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t line_ends = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    const bool windows = end + 1 < text.size() && text[end] == '\r' && text[end + 1] == '\n';
    begin = end + (windows ? 2 : 1);
    if (line.empty()) {
      ++line_ends;
      continue;
    }
    if (!out.empty()) {
      out.append(std::min<size_t>(line_ends, 2), '\n');
    }
    out.append(line);
    line_ends = 1;
  }
  return out;
}

bool IsSentenceEnd(uint32_t code_point) {
  constexpr std::array<uint32_t, 7> kEnds = {'.',    '!',    '?',   0x2026,  // ellipsis
                                             0x3002, 0xFF01, 0xFF1F};        // CJK full stop, !, ?
  return std::ranges::find(kEnds, code_point) != kEnds.end();
}

// Where a text may be cut, from the largest pieces to the smallest.
enum class Border : uint8_t { kParagraph, kLine, kSentence, kWord, kCharacter };

// Cuts one text. Pieces are ranges of the text that touch, so that neighbours are joined by joining
// their ranges.
class TextCutter {
 public:
  TextCutter(std::string_view text, bool markdown, const inference::Tokenizer& tokenizer,
             const CutOptions& options)
      : text_(text), markdown_(markdown), tokenizer_(tokenizer), options_(options) {}

  void AppendTo(CutLessonFile* file) {
    Split(0, text_.size(), Border::kParagraph);
    Join();
    for (const Piece& piece : joined_) {
      if (piece.tokens < options_.least_tokens || Trimmed(piece).empty()) {
        ++file->too_short;
      } else {
        file->lessons.push_back({.prompt = "", .text = std::string(Trimmed(piece))});
      }
    }
  }

 private:
  struct Piece {
    size_t begin = 0;
    size_t end = 0;
    size_t tokens = 0;
  };

  std::string_view Trimmed(const Piece& piece) const {
    const std::string_view text = text_.substr(piece.begin, piece.end - piece.begin);
    const size_t first = text.find_first_not_of(kBlanks);
    return first == text.npos ? std::string_view()
                              : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
  }

  size_t TokensOf(const Piece& piece) const {
    return tokenizer_.EncodeContinuation(Trimmed(piece)).size();
  }

  // Adds the pieces of a range, none of them longer than a lesson may be.
  void Split(size_t begin, size_t end, Border border) {
    while (begin < end) {
      Piece piece{.begin = begin, .end = NextBorder(begin, end, border)};
      begin = piece.end;
      const bool may_fit = piece.end - piece.begin <= kMostBytesPerToken * options_.most_tokens;
      piece.tokens = may_fit ? TokensOf(piece) : options_.most_tokens + 1;
      if (piece.tokens <= options_.most_tokens || border == Border::kCharacter) {
        pieces_.push_back(piece);
      } else {
        Split(piece.begin, piece.end, static_cast<Border>(static_cast<uint8_t>(border) + 1));
      }
    }
  }

  size_t NextBorder(size_t begin, size_t end, Border border) const {
    switch (border) {
      case Border::kParagraph:
        return EndOfParagraph(begin, end);
      case Border::kLine:
        return std::min(text_.find('\n', begin), end - 1) + 1;
      case Border::kSentence:
        return EndOfSentence(begin, end);
      case Border::kWord: {
        const std::string_view rest = text_.substr(begin, end - begin);
        const size_t blank = std::min(rest.find_first_of(kBlanks), rest.size());
        return begin + std::min(rest.find_first_not_of(kBlanks, blank), rest.size());
      }
      case Border::kCharacter:
        break;
    }
    // A piece has at most as many tokens as bytes.
    const std::string_view rest = text_.substr(begin, end - begin);
    return begin +
           std::max<size_t>(CutUtf8(rest, options_.most_tokens).size(), FirstUtf8Char(rest).length);
  }

  static bool IsFence(std::string_view line) {
    return line.starts_with("```") || line.starts_with("~~~");
  }

  bool IsHeadingAt(size_t place) const {
    if (!markdown_ || place >= text_.size()) {
      return false;
    }
    constexpr size_t kDeepest = 6;
    const std::string_view line = text_.substr(place, kDeepest + 1);
    const size_t text = line.find_first_not_of('#');
    return text != line.npos && text > 0 && line[text] == ' ';
  }

  size_t EndOfParagraph(size_t begin, size_t end) const {
    bool fenced = false;
    for (size_t line = begin; line < end;) {
      const size_t line_end = std::min(text_.find('\n', line), end - 1) + 1;
      if (markdown_ && IsFence(text_.substr(line, line_end - line))) {
        fenced = !fenced;
      }
      const bool blank_follows = line_end < end && text_[line_end] == '\n';
      if (!fenced && blank_follows) {
        return line_end + 1;
      }
      if (!fenced && IsHeadingAt(line_end)) {
        return line_end;
      }
      line = line_end;
    }
    return end;
  }

  size_t EndOfSentence(size_t begin, size_t end) const {
    for (size_t i = begin; i < end;) {
      const Utf8Char character = FirstUtf8Char(text_.substr(i, end - i));
      i += character.length;
      const bool blank_follows = i >= end || kBlanks.find(text_[i]) != kBlanks.npos;
      // After a full stop of a script without blanks, none follows.
      if (IsSentenceEnd(character.code_point) && (blank_follows || character.length == 3)) {
        return std::min(text_.find_first_not_of(kBlanks, i), end);
      }
    }
    return end;
  }

  // Joins neighbours that fit into one lesson. Pieces that are too short afterwards go to the
  // lesson before them, which may become a quarter longer.
  void Join() {
    for (const Piece& piece : pieces_) {
      if (joined_.empty() || EndsSection(joined_.back(), piece) ||
          !Append(piece, options_.most_tokens, &joined_)) {
        joined_.push_back(piece);
      }
    }
    std::vector<Piece> lessons;
    for (const Piece& piece : joined_) {
      const bool is_short = piece.tokens < options_.least_tokens ||
                            (!lessons.empty() && lessons.back().tokens < options_.least_tokens);
      const size_t most = options_.most_tokens + options_.most_tokens / 4;
      if (!is_short || lessons.empty() || !Append(piece, most, &lessons)) {
        lessons.push_back(piece);
      }
    }
    joined_ = std::move(lessons);
  }

  bool EndsSection(const Piece& last, const Piece& next) const {
    return IsHeadingAt(next.begin) && last.tokens >= options_.least_tokens;
  }

  // Makes the last piece longer by the next one, if it then has at most `most` tokens. Blanks
  // between them count as a token each.
  bool Append(const Piece& next, size_t most, std::vector<Piece>* pieces) const {
    Piece& last = pieces->back();
    const std::string_view text = text_.substr(last.begin, last.end - last.begin);
    const size_t blanks = text.size() - (text.find_last_not_of(kBlanks) + 1);
    const size_t together = last.tokens + blanks + next.tokens;
    if (together <= most) {
      last.end = next.end;
      last.tokens = together;
    }
    return together <= most;
  }

  const std::string_view text_;
  const bool markdown_;
  const inference::Tokenizer& tokenizer_;
  const CutOptions options_;
  std::vector<Piece> pieces_;
  std::vector<Piece> joined_;
};

// Returns the text after the front matter: a block between two lines of "---" at the very
// beginning. A blank line ends the search, because the first line of a text may also be a rule.
std::string_view WithoutFrontMatter(std::string_view text) {
  constexpr std::string_view kBegin = "---\n";
  constexpr std::string_view kEnd = "\n---";
  const size_t end = text.starts_with(kBegin) ? text.find(kEnd, kBegin.size() - 1) : text.npos;
  if (end == text.npos || text.find("\n\n") < end) {
    return text;
  }
  const std::string_view rest = text.substr(end + kEnd.size());
  return rest.empty() || rest.front() == '\n' ? rest : text;
}

// Reads one line of JSON Lines. Nullopt if it is no object with the strings that are wanted.
std::optional<CutLesson> LessonOfLine(std::string_view line) {
  // Without exceptions, a syntax error gives a discarded value.
  const nlohmann::json value =
      nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || !value.contains("text") || !value["text"].is_string() ||
      (value.contains("prompt") && !value["prompt"].is_string())) {
    return std::nullopt;
  }
  return CutLesson{.prompt = value.value("prompt", ""), .text = value["text"].get<std::string>()};
}

absl::StatusOr<CutLessonFile> CutJsonLines(std::string_view bytes,
                                           const inference::Tokenizer& tokenizer,
                                           const CutOptions& options) {
  CutLessonFile file;
  size_t number = 1;
  for (size_t begin = 0; begin < bytes.size(); ++number) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view line = bytes.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(kBlanks) == line.npos) {
      continue;
    }
    std::optional<CutLesson> lesson = LessonOfLine(line);
    if (!lesson) {
      return Unreadable(fmt::format(
          "line {} is not a JSON object with a string \"text\" and perhaps a string \"prompt\"",
          number));
    }
    if (lesson->text.find_first_not_of(kBlanks) == std::string::npos) {
      ++file.too_short;
      continue;
    }
    if (lesson->prompt.empty()) {
      TextCutter(Normalised(lesson->text), false, tokenizer, options).AppendTo(&file);
      continue;
    }
    if (lesson->prompt.size() + lesson->text.size() > limits::kMaxLessonPairBytes) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                   "the prompt and the text of line {} have {} bytes together, more than {}; "
                   "shorten them, or leave the prompt out, so that the text can be cut",
                   number, lesson->prompt.size() + lesson->text.size(),
                   limits::kMaxLessonPairBytes);
    }
    file.lessons.push_back(*std::move(lesson));
  }
  return file;
}

}  // namespace

absl::StatusOr<CutLessonFile> CutLessons(std::string_view bytes, LessonFormat format,
                                         const inference::Tokenizer& tokenizer,
                                         const CutOptions& options) {
  if (bytes.size() > limits::kMaxLessonFileBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "it has {} bytes, more than {}; split it", bytes.size(),
                 limits::kMaxLessonFileBytes);
  }
  RETURN_IF_ERROR(CheckText(bytes));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) {
    bytes.remove_prefix(kByteOrderMark.size());
  }
  if (format == LessonFormat::kJsonLines) {
    return CutJsonLines(bytes, tokenizer, options);
  }
  const bool markdown = format == LessonFormat::kMarkdown;
  const std::string text = Normalised(bytes);
  CutLessonFile file;
  TextCutter(markdown ? WithoutFrontMatter(text) : text, markdown, tokenizer, options)
      .AppendTo(&file);
  return file;
}

}  // namespace ruvd::learning
