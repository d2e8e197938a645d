// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/gbnf.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
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

constexpr std::string_view kRoot = "root";
constexpr std::string_view kBlanks = " \t";

// What stands behind a backslash: a letter for a character, or one before hexadecimal digits.
struct Escape {
  std::string_view letter;
  uint32_t character = 0;
  size_t digits = 0;
};
constexpr std::array kEscapes = {
    Escape{"n", '\n'}, Escape{"r", '\r'}, Escape{"t", '\t'}, Escape{"\\", '\\'},
    Escape{"\"", '"'}, Escape{"[", '['},  Escape{"]", ']'},  Escape{"-", '-'},
    Escape{"x", 0, 2}, Escape{"u", 0, 4}, Escape{"U", 0, 8},
};

bool IsNameByte(char byte) {
  return IsAsciiLetter(byte) || IsAsciiDigit(byte) || byte == '-';
}

bool IsInLine(char byte) {
  return byte != '\n' && byte != '\r';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text)
      : reader_(text, "the grammar", PatternReader::Places::kLines), sets_(&builder_) {}

  absl::StatusOr<std::shared_ptr<const Grammar>> Parse() {
    RETURN_IF_ERROR(reader_.CheckText());
    SkipSpace(true);
    while (!reader_.AtEnd()) {
      RETURN_IF_ERROR(Definition());
      SkipSpace(true);
    }
    RETURN_IF_ERROR(CheckRules());
    return builder_.Build(builder_.Call(rules_.find(kRoot)->second.rule));
  }

 private:
  struct Named {
    GrammarBuilder::Rule rule = 0;
    size_t first_at = 0;  // where the name occurs first
    bool is_defined = false;
  };

  // Reads a rule up to the end of its line.
  absl::Status Definition();
  absl::Status CheckRules() const;
  absl::StatusOr<Expression> Alternatives(int depth);
  absl::StatusOr<Expression> Sequence(int depth);
  // Reads what one repetition repeats; nothing if nothing of a sequence comes next.
  absl::StatusOr<std::optional<Expression>> Atom(int depth);
  absl::StatusOr<Expression> Group(int depth);
  absl::StatusOr<Expression> Literal();
  absl::StatusOr<Expression> Class();
  // Reads a character or an escape.
  absl::StatusOr<uint32_t> Character();

  Named& RuleOf(std::string_view name, size_t at) {
    const auto found = rules_.find(name);
    return found != rules_.end()
               ? found->second
               : rules_.emplace(name, Named{builder_.AddRule(), at}).first->second;
  }
  // Skips blanks and comments, and the ends of lines where `lines` says so.
  void SkipSpace(bool lines) {
    while (!reader_.AtEnd()) {
      if (reader_.Take("#")) {
        reader_.TakeWhile(IsInLine);
      } else if (!reader_.Take(" ") && !reader_.Take("\t") &&
                 !(lines && (reader_.Take("\n") || reader_.Take("\r")))) {
        return;
      }
    }
  }
  // Returns what comes next, for an error.
  std::string Shown() const {
    const char next = reader_.Byte();
    return reader_.AtEnd() ? "an end"
                           : fmt::format("'{}'", SanitizeForDisplay(std::string_view(&next, 1)));
  }

  PatternReader reader_;
  GrammarBuilder builder_;
  CharacterSets sets_;
  std::map<std::string, Named, std::less<>> rules_;
};

absl::Status GbnfParser::Definition() {
  const size_t start = reader_.at();
  const std::string_view name = reader_.TakeWhile(IsNameByte);
  if (name.empty()) {
    return reader_.Refuse(start, fmt::format("{} where a rule must begin", Shown()),
                          "; write each rule as name ::= ... with letters, digits and - in the "
                          "name, and put a | at the end of a line, not at the beginning of one");
  }
  SkipSpace(false);
  if (!reader_.Take("::=")) {
    return reader_.Refuse(reader_.at(),
                          fmt::format("{} behind the name '{}'", Shown(), SanitizeForDisplay(name)),
                          "; write ::= between the name and what the rule reads");
  }
  Named& named = RuleOf(name, start);
  if (named.is_defined) {
    return reader_.Refuse(
        start, fmt::format("a second definition of the rule '{}'", SanitizeForDisplay(name)),
        "; join both with | or rename one");
  }
  named.is_defined = true;
  SkipSpace(true);
  ASSIGN_OR_RETURN(const Expression body, Alternatives(0));
  if (!reader_.AtEnd() && IsInLine(reader_.Byte())) {
    return reader_.Refuse(reader_.at(),
                          fmt::format("{} inside the rule '{}'", Shown(), SanitizeForDisplay(name)),
                          "; a rule has \"text\", [classes], names of letters, digits and -, and "
                          "groups in parentheses, and ends with its line");
  }
  builder_.Define(named.rule, body);
  return absl::OkStatus();
}

absl::Status GbnfParser::CheckRules() const {
  const std::pair<const std::string, Named>* undefined = nullptr;
  for (const auto& rule : rules_) {
    if (!rule.second.is_defined &&
        (undefined == nullptr || rule.second.first_at < undefined->second.first_at)) {
      undefined = &rule;
    }
  }
  if (undefined != nullptr) {
    return reader_.Refuse(
        undefined->second.first_at,
        fmt::format("a reference to the rule '{}'", SanitizeForDisplay(undefined->first)),
        ", which is not defined; define it or correct the name");
  }
  if (!rules_.contains(kRoot)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the grammar has no rule root; name the rule of the whole text so");
  }
  return absl::OkStatus();
}

absl::StatusOr<Expression> GbnfParser::Alternatives(int depth) {
  std::vector<Expression> options;
  while (true) {
    ASSIGN_OR_RETURN(const Expression option, Sequence(depth));
    options.push_back(option);
    if (!reader_.Take("|")) {
      return options.size() == 1 ? options.front() : builder_.Choice(options);
    }
    SkipSpace(true);
  }
}

absl::StatusOr<Expression> GbnfParser::Sequence(int depth) {
  const bool in_group = depth > 0;
  std::vector<Expression> parts;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Expression> atom, Atom(depth));
    if (!atom.has_value()) {
      return builder_.Sequence(parts);
    }
    SkipSpace(in_group);
    ASSIGN_OR_RETURN(const std::optional<Repetition> repetition, reader_.TakeRepetition(kBlanks));
    parts.push_back(repetition.has_value()
                        ? builder_.Repeat(*atom, repetition->least, repetition->most)
                        : *atom);
    SkipSpace(in_group);
  }
}

absl::StatusOr<std::optional<Expression>> GbnfParser::Atom(int depth) {
  const size_t start = reader_.at();
  const char first = reader_.Byte();
  switch (first) {
    case '"':
      return Literal();
    case '[':
      return Class();
    case '(':
      return Group(depth);
    case '.':
      reader_.Take(".");
      return sets_.NotIn({});
    case '*':
    case '+':
    case '?':
    case '{':
      return reader_.Refuse(start, fmt::format("nothing to repeat before the {}", first),
                            "; put what is repeated before it, in parentheses if it is repeated "
                            "itself");
    case '<':
    case '!':
      return reader_.Refuse(start, "a reference to a token",
                            ", which this node does not support; write the text of the token");
    default:
      break;
  }
  const std::string_view name = reader_.TakeWhile(IsNameByte);
  if (name.empty()) {
    return std::nullopt;
  }
  return builder_.Call(RuleOf(name, start).rule);
}

absl::StatusOr<Expression> GbnfParser::Group(int depth) {
  const size_t start = reader_.at();
  if (depth == limits::kMaxConstraintDepth) {
    return reader_.Refuse(start,
                          fmt::format("a group inside {} others", limits::kMaxConstraintDepth),
                          "; make rules of the inner ones");
  }
  reader_.Take("(");
  SkipSpace(true);
  ASSIGN_OR_RETURN(const Expression body, Alternatives(depth + 1));
  if (!reader_.Take(")")) {
    return reader_.Refuse(start, "a ( without its )", "; close the group");
  }
  return body;
}

absl::StatusOr<Expression> GbnfParser::Literal() {
  const size_t start = reader_.at();
  reader_.Take("\"");
  std::string text;
  while (!reader_.Take("\"")) {
    if (reader_.AtEnd()) {
      return reader_.Refuse(start, "a text without its closing quotation mark",
                            "; close it, and write \\\" for the mark itself");
    }
    ASSIGN_OR_RETURN(const uint32_t character, Character());
    text += Utf8Of(character);
  }
  return builder_.Literal(text);
}

absl::StatusOr<Expression> GbnfParser::Class() {
  const size_t start = reader_.at();
  reader_.Take("[");
  const bool is_negated = reader_.Take("^");
  if (reader_.Sees("]")) {
    return reader_.Refuse(start, "a class without characters",
                          "; put some between [ and ], and write \\] for the bracket itself");
  }
  std::vector<CodePointRange> ranges;
  while (!reader_.Take("]")) {
    if (reader_.AtEnd()) {
      return reader_.Refuse(start, "a [ without its ]", "; close the class");
    }
    const size_t range_start = reader_.at();
    ASSIGN_OR_RETURN(const uint32_t low, Character());
    uint32_t high = low;
    if (reader_.Sees("-") && !reader_.Sees("-]") && reader_.left() > 1) {
      reader_.Take("-");
      ASSIGN_OR_RETURN(high, Character());
      RETURN_IF_ERROR(reader_.CheckRange(range_start, low, high));
    }
    ranges.emplace_back(low, high);
  }
  return is_negated ? sets_.NotIn(ranges) : sets_.In(ranges);
}

absl::StatusOr<uint32_t> GbnfParser::Character() {
  const size_t start = reader_.at();
  if (!reader_.Take("\\")) {
    return reader_.TakeCharacter();
  }
  for (const Escape& escape : kEscapes) {
    if (reader_.Take(escape.letter)) {
      ASSIGN_OR_RETURN(const uint32_t character,
                       escape.digits == 0
                           ? escape.character
                           : reader_.TakeCodePoint(start, escape.digits, escape.digits));
      RETURN_IF_ERROR(reader_.CheckCharacter(start, character));
      return character;
    }
  }
  return reader_.Refuse(start, fmt::format("a backslash before {}", Shown()),
                        "; write \\\\ for a backslash, or \\xHH or \\uHHHH for a character");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfGbnf(std::string_view text) {
  return GbnfParser(text).Parse();
}

}  // namespace ruvd::inference
