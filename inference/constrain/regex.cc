// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/regex.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/character_sets.h"
#include "inference/constrain/limits.h"
#include "inference/constrain/pattern_reader.h"
#include "inference/constrain/utf8_ranges.h"

namespace ruvd::inference {
namespace {

using Expression = GrammarBuilder::Expression;
using Ranges = std::vector<CodePointRange>;

constexpr std::string_view kUnsupported =
    ", which this node does not support; write the expression without it";

// A beginning of a group or an escape that is refused, and its name.
struct Refused {
  std::string_view prefix;
  std::string_view name;
  bool in_class = false;  // whether it means the same there
};
// Behind "(?"
constexpr std::array kRefusedGroups = {
    Refused{"=", "a look-ahead"},    Refused{"!", "a negative look-ahead"},
    Refused{"<=", "a look-behind"},  Refused{"<!", "a negative look-behind"},
    Refused{">", "an atomic group"}, Refused{"P=", "a backreference"},
};
// Behind a backslash
constexpr std::array kRefusedEscapes = {
    Refused{"b", "a word boundary"},       Refused{"B", "a word boundary"},
    Refused{"k", "a backreference"},       Refused{"p", "a Unicode class", true},
    Refused{"P", "a Unicode class", true},
};
constexpr std::string_view kFlags = "aiLmnsuUx-";

bool IsOneCharacter(const Ranges& ranges) {
  return ranges.size() == 1 && ranges[0].first == ranges[0].second;
}

bool IsNameByte(char byte) {
  return IsAsciiLetter(byte) || IsAsciiDigit(byte) || byte == '_';
}

// Returns the characters of \d, \w, \s, \D, \W or \S.
std::optional<Ranges> SetOf(char letter) {
  const bool is_negated = letter >= 'A' && letter <= 'Z';
  Ranges ranges;
  switch (letter) {
    case 'd':
    case 'D':
      ranges = {{'0', '9'}};
      break;
    case 'w':
    case 'W':
      ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      break;
    case 's':
    case 'S':
      ranges = {{'\t', '\r'}, {' ', ' '}};
      break;
    default:
      return std::nullopt;
  }
  return is_negated ? OtherCodePoints(ranges) : ranges;
}

// Returns the character of an escape of one letter, or of escaped punctuation.
std::optional<char> EscapedCharacter(char byte) {
  switch (byte) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      break;
  }
  const bool is_printable = byte >= ' ' && byte <= '~';
  return is_printable && !IsAsciiLetter(byte) && !IsAsciiDigit(byte) ? std::optional(byte)
                                                                     : std::nullopt;
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, GrammarBuilder* builder)
      : reader_(pattern, "the regular expression", PatternReader::Places::kBytes),
        builder_(builder),
        sets_(builder) {}

  absl::StatusOr<Expression> Parse() {
    RETURN_IF_ERROR(reader_.CheckText());
    reader_.Take("^");
    ASSIGN_OR_RETURN(const Expression whole, Alternatives(0));
    if (!reader_.AtEnd()) {
      return reader_.Refuse(reader_.at(), "a ) without its (", "; write \\) for the character");
    }
    return whole;
  }

 private:
  absl::StatusOr<Expression> Alternatives(int depth) {
    std::vector<Expression> options;
    do {
      ASSIGN_OR_RETURN(const Expression option, Sequence(depth));
      options.push_back(option);
    } while (reader_.Take("|"));
    return options.size() == 1 ? options.front() : builder_->Choice(options);
  }

  absl::StatusOr<Expression> Sequence(int depth) {
    std::vector<Expression> parts;
    while (!reader_.AtEnd() && !reader_.Sees("|") && !reader_.Sees(")") && !TakeEndAnchor()) {
      ASSIGN_OR_RETURN(const Expression part, Repeated(depth));
      parts.push_back(part);
    }
    return builder_->Sequence(parts);
  }

  bool TakeEndAnchor() { return reader_.left() == 1 && reader_.Take("$"); }

  absl::StatusOr<Expression> Repeated(int depth);
  absl::StatusOr<Expression> Atom(int depth);
  absl::StatusOr<Expression> Group(int depth);
  absl::Status GroupKind(size_t start);
  absl::StatusOr<Expression> Class();
  // Reads a character, a range or a set of a class, and adds it to `ranges`.
  absl::Status ClassItem(Ranges* ranges);
  absl::StatusOr<Ranges> ClassPart();
  absl::StatusOr<Ranges> Escape(bool in_class);
  absl::StatusOr<uint32_t> UnicodeEscape(size_t start);
  absl::Status UnknownEscape(size_t start, bool in_class) const;

  // Returns whether a brace begins a repetition. Other braces are characters.
  bool SeesBraces() const {
    return reader_.Sees("{") && (IsAsciiDigit(reader_.Byte(1)) ||
                                 (reader_.Byte(1) == ',' && IsAsciiDigit(reader_.Byte(2))));
  }

  PatternReader reader_;
  GrammarBuilder* const builder_;
  CharacterSets sets_;
};

absl::StatusOr<Expression> RegexParser::Repeated(int depth) {
  ASSIGN_OR_RETURN(const Expression atom, Atom(depth));
  if (reader_.Sees("{") && !SeesBraces()) {
    return atom;
  }
  const size_t start = reader_.at();
  ASSIGN_OR_RETURN(const std::optional<Repetition> repetition, reader_.TakeRepetition(""));
  if (!repetition.has_value()) {
    return atom;
  }
  if (reader_.Sees("+")) {
    return reader_.Refuse(start, "a possessive repetition", kUnsupported);
  }
  reader_.Take("?");  // a lazy repetition reads the same texts
  return builder_->Repeat(atom, repetition->least, repetition->most);
}

absl::StatusOr<Expression> RegexParser::Atom(int depth) {
  const size_t start = reader_.at();
  const char first = reader_.Byte();
  if (first == '*' || first == '+' || first == '?' || SeesBraces()) {
    return reader_.Refuse(start, fmt::format("nothing to repeat before the {}", first),
                          fmt::format("; write \\{} for the character", first));
  }
  switch (first) {
    case '(':
      return Group(depth);
    case '[':
      return Class();
    case '\\': {
      ASSIGN_OR_RETURN(const Ranges ranges, Escape(false));
      return sets_.In(ranges);
    }
    case '.':
      reader_.Take(".");
      return sets_.NotIn({{'\n', '\n'}});
    case '^':
      return reader_.Refuse(start, "a ^ that is not its first character",
                            "; leave it out, or write \\^ for the character");
    case '$':
      return reader_.Refuse(start, "a $ that is not its last character",
                            "; leave it out, or write \\$ for the character");
    default:
      return builder_->Literal(Utf8Of(reader_.TakeCharacter()));
  }
}

absl::StatusOr<Expression> RegexParser::Group(int depth) {
  const size_t start = reader_.at();
  if (depth == limits::kMaxConstraintDepth) {
    return reader_.Refuse(start,
                          fmt::format("a group inside {} others", limits::kMaxConstraintDepth),
                          "; write the expression with fewer groups inside each other");
  }
  reader_.Take("(");
  if (reader_.Take("?")) {
    RETURN_IF_ERROR(GroupKind(start));
  }
  ASSIGN_OR_RETURN(const Expression body, Alternatives(depth + 1));
  if (!reader_.Take(")")) {
    return reader_.Refuse(start, "a ( without its )", "; close the group, or write \\( for it");
  }
  return body;
}

// Reads what stands between "(?" and the body of a group.
absl::Status RegexParser::GroupKind(size_t start) {
  for (const Refused& refused : kRefusedGroups) {
    if (reader_.Sees(refused.prefix)) {
      return reader_.Refuse(start, refused.name, kUnsupported);
    }
  }
  if (reader_.Take(":")) {
    return absl::OkStatus();
  }
  if (reader_.Take("<") || reader_.Take("P<")) {
    if (reader_.TakeWhile(IsNameByte).empty() || !reader_.Take(">")) {
      return reader_.Refuse(start, "a group with a broken name",
                            "; name it with letters, digits and _, as in (?<name>a)");
    }
    return absl::OkStatus();
  }
  if (!reader_.AtEnd() && kFlags.find(reader_.Byte()) != std::string_view::npos) {
    return reader_.Refuse(start, "inline flags", kUnsupported);
  }
  return reader_.Refuse(start, "an unknown kind of group", "; write (?:a) or (a)");
}

absl::StatusOr<Expression> RegexParser::Class() {
  const size_t start = reader_.at();
  reader_.Take("[");
  const bool is_negated = reader_.Take("^");
  if (reader_.Sees("]")) {
    return reader_.Refuse(start, "a class without characters",
                          "; put some between [ and ], or write \\] for the character");
  }
  Ranges ranges;
  while (!reader_.Take("]")) {
    if (reader_.AtEnd()) {
      return reader_.Refuse(start, "a [ without its ]", "; close the class, or write \\[ for it");
    }
    RETURN_IF_ERROR(ClassItem(&ranges));
  }
  return is_negated ? sets_.NotIn(ranges) : sets_.In(ranges);
}

absl::Status RegexParser::ClassItem(Ranges* ranges) {
  const size_t start = reader_.at();
  ASSIGN_OR_RETURN(const Ranges low, ClassPart());
  ranges->insert(ranges->end(), low.begin(), low.end());
  if (!reader_.Sees("-") || reader_.Sees("-]") || reader_.left() == 1) {
    return absl::OkStatus();
  }
  reader_.Take("-");
  ASSIGN_OR_RETURN(const Ranges high, ClassPart());
  if (IsOneCharacter(low) && IsOneCharacter(high)) {
    ranges->back().second = high[0].first;
    return reader_.CheckRange(start, low[0].first, high[0].first);
  }
  // A set ends no range, so that the - stands for itself.
  ranges->emplace_back('-', '-');
  ranges->insert(ranges->end(), high.begin(), high.end());
  return absl::OkStatus();
}

absl::StatusOr<Ranges> RegexParser::ClassPart() {
  if (reader_.Sees("\\")) {
    return Escape(true);
  }
  if (reader_.Sees("[:")) {
    return reader_.Refuse(reader_.at(), "a POSIX class such as [:alpha:]",
                          ", which this node does not support; write the characters, such as a-z, "
                          "or \\[ for the bracket");
  }
  const uint32_t character = reader_.TakeCharacter();
  return Ranges{{character, character}};
}

absl::StatusOr<Ranges> RegexParser::Escape(bool in_class) {
  const size_t start = reader_.at();
  reader_.Take("\\");
  if (reader_.AtEnd()) {
    return reader_.Refuse(start, "a backslash with nothing to escape",
                          "; write \\\\ for the character");
  }
  const char letter = reader_.Byte();
  uint32_t character = 0;
  if (const std::optional<Ranges> set = SetOf(letter); set.has_value()) {
    reader_.TakeCharacter();
    return *set;
  }
  if (const std::optional<char> escaped = EscapedCharacter(letter); escaped.has_value()) {
    reader_.TakeCharacter();
    character = static_cast<uint8_t>(*escaped);
  } else if (letter == '0' && !IsAsciiDigit(reader_.Byte(1))) {
    reader_.Take("0");
  } else if (reader_.Take("x")) {
    ASSIGN_OR_RETURN(character, reader_.TakeCodePoint(start, 2, 2));
  } else if (reader_.Take("u")) {
    ASSIGN_OR_RETURN(character, UnicodeEscape(start));
  } else {
    return UnknownEscape(start, in_class);
  }
  return Ranges{{character, character}};
}

// Reads what stands behind the \u: four digits, two such escapes that are a pair of surrogates, or
// any number of digits in braces.
absl::StatusOr<uint32_t> RegexParser::UnicodeEscape(size_t start) {
  uint32_t character = 0;
  if (reader_.Take("{")) {
    ASSIGN_OR_RETURN(character, reader_.TakeCodePoint(start, 1, 8));
    if (!reader_.Take("}")) {
      return reader_.Refuse(start, "an escape \\u{ without its }", "; close the brace");
    }
  } else {
    ASSIGN_OR_RETURN(character, reader_.TakeCodePoint(start, 4, 4));
    if (character >= 0xD800 && character <= 0xDBFF && reader_.Take("\\u")) {
      ASSIGN_OR_RETURN(const uint32_t low, reader_.TakeCodePoint(start, 4, 4));
      if (low >= 0xDC00 && low <= 0xDFFF) {
        return 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
      }
    }
  }
  RETURN_IF_ERROR(reader_.CheckCharacter(start, character));
  return character;
}

// Refuses the escape whose backslash, at `start`, was read last.
absl::Status RegexParser::UnknownEscape(size_t start, bool in_class) const {
  const char letter = reader_.Byte();
  const std::string shown = SanitizeForDisplay(std::string_view(&letter, 1));
  if (letter >= '1' && letter <= '9' && !in_class) {
    return reader_.Refuse(start, fmt::format("the backreference \\{}", shown), kUnsupported);
  }
  for (const Refused& refused : kRefusedEscapes) {
    if (reader_.Sees(refused.prefix) && (!in_class || refused.in_class)) {
      return reader_.Refuse(start, fmt::format("{} \\{}", refused.name, shown), kUnsupported);
    }
  }
  return reader_.Refuse(start, fmt::format("the unknown escape \\{}", shown),
                        "; write \\xHH or \\uHHHH for a character");
}

}  // namespace

absl::StatusOr<Expression> ExpressionOfRegex(std::string_view pattern, GrammarBuilder* builder) {
  return RegexParser(pattern, builder).Parse();
}

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfRegex(std::string_view pattern) {
  GrammarBuilder builder;
  ASSIGN_OR_RETURN(const Expression whole, ExpressionOfRegex(pattern, &builder));
  return builder.Build(whole);
}

}  // namespace ruvd::inference
