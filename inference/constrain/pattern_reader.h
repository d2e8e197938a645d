// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::inference {

// How often something is repeated; most = GrammarBuilder::kUnbounded: without a limit.
struct Repetition {
  int least = 0;
  int most = 0;
};

// Reads what regular expressions and GBNF grammars have in common, and words their errors, which
// are all INVALID_ARGUMENT. The text must outlive the reader. Not thread-safe.
class PatternReader {
 public:
  // How a place in the text is named in errors.
  enum class Places { kBytes, kLines };

  // `subject` names the text in errors, such as "the regular expression". It must outlive the
  // reader.
  PatternReader(std::string_view text, std::string_view subject, Places places)
      : text_(text), subject_(subject), places_(places) {}

  // INVALID_ARGUMENT if the text has more than limits::kMaxConstraintBytes bytes or is not UTF-8.
  // Call it before anything is read.
  absl::Status CheckText() const;

  bool AtEnd() const { return at_ == text_.size(); }
  // The number of bytes that have been read.
  size_t at() const { return at_; }
  // The number of bytes that have not been read.
  size_t left() const { return text_.size() - at_; }
  // Returns a byte further on, or NUL behind the end.
  char Byte(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  // Returns whether `token` comes next.
  bool Sees(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  // Reads `token` if it comes next, and returns whether it did.
  bool Take(std::string_view token);
  // Reads one character, which must be there.
  uint32_t TakeCharacter();
  // Reads bytes for as long as they are of this kind.
  std::string_view TakeWhile(bool (*is_of_kind)(char byte));

  // Reads `least` to `most` (at most 8) hexadecimal digits of a code point. INVALID_ARGUMENT if
  // there are fewer, or if the code point is above 0x10FFFF; `start` is where the escape began.
  absl::StatusOr<uint32_t> TakeCodePoint(size_t start, size_t least, size_t most);
  // INVALID_ARGUMENT if a code point that an escape at `start` names is a surrogate, which is no
  // character.
  absl::Status CheckCharacter(size_t start, uint32_t code_point) const;
  // INVALID_ARGUMENT if a range that begins at `start` runs backwards.
  absl::Status CheckRange(size_t start, uint32_t low, uint32_t high) const;
  // Reads *, +, ?, {m}, {m,} or {m,n}, if one of them comes next. Braces may have `blanks` between
  // their parts. INVALID_ARGUMENT if braces have another form, or a number that is larger than
  // limits::kMaxRepetitions.
  absl::StatusOr<std::optional<Repetition>> TakeRepetition(std::string_view blanks);

  // Returns INVALID_ARGUMENT with the message "SUBJECT has WHAT at byte START", or with the number
  // of the line, followed by `then`.
  absl::Status Refuse(size_t start, std::string_view what, std::string_view then) const;

 private:
  absl::StatusOr<Repetition> TakeBraces(size_t start, std::string_view blanks);
  // Reads a number; nothing if no digit comes next. A larger one than limits::kMaxRepetitions is
  // read as the next one after it.
  std::optional<int> TakeNumber();
  void SkipBlanks(std::string_view blanks);

  const std::string_view text_;
  const std::string_view subject_;
  const Places places_;
  size_t at_ = 0;
};

bool IsAsciiDigit(char byte);
bool IsAsciiLetter(char byte);

}  // namespace ruvd::inference
