// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/pattern_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/grammar.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;
constexpr uint32_t kFirstSurrogate = 0xD800;
constexpr uint32_t kLastSurrogate = 0xDFFF;

std::optional<uint32_t> HexDigitOf(char byte) {
  if (IsAsciiDigit(byte)) {
    return byte - '0';
  }
  if (byte >= 'a' && byte <= 'f') {
    return byte - 'a' + 10;
  }
  if (byte >= 'A' && byte <= 'F') {
    return byte - 'A' + 10;
  }
  return std::nullopt;
}

}  // namespace

bool IsAsciiDigit(char byte) {
  return byte >= '0' && byte <= '9';
}

bool IsAsciiLetter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

absl::Status PatternReader::CheckText() const {
  if (text_.size() > limits::kMaxConstraintBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} has {} bytes; send one with at most {}", subject_, text_.size(),
                 limits::kMaxConstraintBytes);
  }
  for (size_t at = 0; at < text_.size();) {
    const Utf8Char next = FirstUtf8Char(text_.substr(at));
    if (next.state != Utf8Char::State::kValid) {
      return Refuse(at, "bytes that are not UTF-8", "; send text in UTF-8");
    }
    at += next.length;
  }
  return absl::OkStatus();
}

bool PatternReader::Take(std::string_view token) {
  const bool sees = Sees(token);
  at_ += sees ? token.size() : 0;
  return sees;
}

uint32_t PatternReader::TakeCharacter() {
  const Utf8Char next = FirstUtf8Char(text_.substr(at_));
  at_ += next.length;
  return next.code_point;
}

std::string_view PatternReader::TakeWhile(bool (*is_of_kind)(char byte)) {
  const size_t start = at_;
  while (!AtEnd() && is_of_kind(text_[at_])) {
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

absl::StatusOr<uint32_t> PatternReader::TakeCodePoint(size_t start, size_t least, size_t most) {
  uint32_t code_point = 0;
  size_t digits = 0;
  for (; digits < most; ++digits, ++at_) {
    const std::optional<uint32_t> digit = HexDigitOf(Byte());
    if (!digit.has_value()) {
      break;
    }
    code_point = (code_point << 4) | *digit;
  }
  const std::string escape = SanitizeForDisplay(text_.substr(start, at_ - start));
  if (digits < least) {
    return Refuse(start, fmt::format("the escape {} with too few hexadecimal digits", escape),
                  fmt::format("; give it {}", least == most ? fmt::format("{} digits", least)
                                                            : "at least one digit"));
  }
  if (code_point > kLastCodePoint) {
    return Refuse(start, fmt::format("the escape {} above U+10FFFF", escape),
                  "; name a character of Unicode");
  }
  return code_point;
}

absl::Status PatternReader::CheckCharacter(size_t start, uint32_t code_point) const {
  if (code_point >= kFirstSurrogate && code_point <= kLastSurrogate) {
    return Refuse(start, fmt::format("the lone surrogate U+{:04X}", code_point),
                  "; write the character itself");
  }
  return absl::OkStatus();
}

absl::Status PatternReader::CheckRange(size_t start, uint32_t low, uint32_t high) const {
  if (low > high) {
    return Refuse(start,
                  fmt::format("a range that runs backwards from U+{:04X} to U+{:04X}", low, high),
                  "; write the smaller character first");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Repetition>> PatternReader::TakeRepetition(std::string_view blanks) {
  const size_t start = at_;
  if (Take("*")) {
    return Repetition{0, GrammarBuilder::kUnbounded};
  }
  if (Take("+")) {
    return Repetition{1, GrammarBuilder::kUnbounded};
  }
  if (Take("?")) {
    return Repetition{0, 1};
  }
  if (Take("{")) {
    ASSIGN_OR_RETURN(const Repetition repetition, TakeBraces(start, blanks));
    return repetition;
  }
  return std::nullopt;
}

absl::StatusOr<Repetition> PatternReader::TakeBraces(size_t start, std::string_view blanks) {
  SkipBlanks(blanks);
  const std::optional<int> least = TakeNumber();
  SkipBlanks(blanks);
  std::optional<int> most = least;
  bool is_bounded = true;
  if (Take(",")) {
    SkipBlanks(blanks);
    most = TakeNumber();
    is_bounded = most.has_value();
    SkipBlanks(blanks);
  }
  if (!least.has_value() || !Take("}")) {
    return Refuse(start, "a brace that does not begin a repetition",
                  "; write {m}, {m,} or {m,n} with numbers");
  }
  if (std::max(*least, most.value_or(0)) > limits::kMaxRepetitions) {
    return Refuse(start, "a repetition with too large a number",
                  fmt::format("; repeat at most {} times", limits::kMaxRepetitions));
  }
  if (is_bounded && *most < *least) {
    return Refuse(start,
                  fmt::format("a repetition of at least {} and at most {} times", *least, *most),
                  "; write the smaller number first");
  }
  return Repetition{*least, is_bounded ? *most : GrammarBuilder::kUnbounded};
}

std::optional<int> PatternReader::TakeNumber() {
  const std::string_view digits = TakeWhile(IsAsciiDigit);
  if (digits.empty()) {
    return std::nullopt;
  }
  int number = 0;
  for (const char digit : digits) {
    number = std::min(number * 10 + (digit - '0'), limits::kMaxRepetitions + 1);
  }
  return number;
}

void PatternReader::SkipBlanks(std::string_view blanks) {
  while (!AtEnd() && blanks.find(text_[at_]) != std::string_view::npos) {
    ++at_;
  }
}

absl::Status PatternReader::Refuse(size_t start, std::string_view what,
                                   std::string_view then) const {
  const std::string place =
      places_ == Places::kBytes
          ? fmt::format("at byte {}", start)
          : fmt::format("in line {}", 1 + std::ranges::count(text_.substr(0, start), '\n'));
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{} has {} {}{}",
               subject_, what, place, then);
}

}  // namespace ruvd::inference
