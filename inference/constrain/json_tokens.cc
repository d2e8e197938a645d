// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using Expression = GrammarBuilder::Expression;
using Range = std::pair<uint32_t, uint32_t>;

constexpr int kMaxDigits = 15;
constexpr int kMaxExponentDigits = 2;
constexpr uint32_t kFirstPlain = ' ';
constexpr uint32_t kLastAscii = 0x7F;
constexpr uint32_t kLastCharacter = 0x10FFFF;

std::u32string CharactersOf(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const Utf8Char first = FirstUtf8Char(text);
    characters += static_cast<char32_t>(first.code_point);
    text.remove_prefix(first.length);
  }
  return characters;
}

bool NeedsEscape(char32_t character) {
  return character < kFirstPlain || character == U'"' || character == U'\\';
}

}  // namespace

std::string QuotedText(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JsonTokens::JsonTokens(GrammarBuilder* builder)
    : builder_(builder),
      space_(builder->AddRule()),
      comma_(builder->AddRule()),
      colon_(builder->AddRule()),
      beyond_ascii_(builder->AddRule()),
      plain_(builder->AddRule()),
      character_(builder->AddRule()),
      string_(builder->AddRule()),
      integer_(builder->AddRule()),
      number_(builder->AddRule()) {
  const Expression blanks[] = {builder_->Byte(' ', ' '), builder_->Byte('\t', '\n'),
                               builder_->Byte('\r', '\r')};
  builder_->Define(space_, builder_->Repeat(builder_->Choice(blanks), 0, limits::kMaxJsonSpace));
  const Expression comma[] = {Space(), builder_->Literal(","), Space()};
  builder_->Define(comma_, builder_->Sequence(comma));
  const Expression colon[] = {Space(), builder_->Literal(":"), Space()};
  builder_->Define(colon_, builder_->Sequence(colon));

  const Range beyond[] = {{kLastAscii + 1, kLastCharacter}};
  builder_->Define(beyond_ascii_, builder_->Characters(beyond));
  builder_->Define(plain_, PlainExcept(U""));
  const Expression character[] = {builder_->Call(plain_), Escape()};
  builder_->Define(character_, builder_->Choice(character));
  builder_->Define(string_, StringOfLength(0, GrammarBuilder::kUnbounded));

  const Expression integer[] = {builder_->Byte('0', '0'),
                                Both(builder_->Byte('1', '9'), Digits(0, kMaxDigits - 1))};
  builder_->Define(integer_, builder_->Choice(integer));
  const Expression signs[] = {builder_->Byte('+', '+'), builder_->Byte('-', '-')};
  const Expression exponents[] = {builder_->Byte('E', 'E'), builder_->Byte('e', 'e')};
  const Expression exponent[] = {builder_->Choice(exponents),
                                 builder_->Optional(builder_->Choice(signs)),
                                 Digits(1, kMaxExponentDigits)};
  const Expression number[] = {
      builder_->Call(integer_),
      builder_->Optional(Both(builder_->Byte('.', '.'), Digits(1, kMaxDigits))),
      builder_->Optional(builder_->Sequence(exponent))};
  builder_->Define(number_, builder_->Sequence(number));
}

Expression JsonTokens::Both(Expression first, Expression second) {
  const Expression parts[] = {first, second};
  return builder_->Sequence(parts);
}

Expression JsonTokens::Shared(Expression body) {
  const GrammarBuilder::Rule rule = builder_->AddRule();
  builder_->Define(rule, body);
  return builder_->Call(rule);
}

Expression JsonTokens::Digits(int least, int most) {
  return builder_->Repeat(builder_->Byte('0', '9'), least, most);
}

// Half of a surrogate pair is no character, so \uD800 to \uDFFF are not read; the characters that
// would need them are written without an escape.
Expression JsonTokens::Escape() {
  std::vector<Expression> simple;
  for (const char c : std::string_view("\"\\/bfnrt")) {
    simple.push_back(builder_->Literal(std::string_view(&c, 1)));
  }
  const Expression digits[] = {Digits(1, 1), builder_->Byte('A', 'F'), builder_->Byte('a', 'f')};
  const Expression digit = builder_->Choice(digits);
  const Expression all_but_d[] = {Digits(1, 1), builder_->Byte('A', 'C'), builder_->Byte('E', 'F'),
                                  builder_->Byte('a', 'c'), builder_->Byte('e', 'f')};
  const Expression d[] = {builder_->Byte('D', 'D'), builder_->Byte('d', 'd')};
  const Expression starts[] = {
      Both(builder_->Choice(all_but_d), digit),
      Both(builder_->Choice(d), builder_->Byte('0', '7')),
  };
  const Expression code[] = {builder_->Literal("u"), builder_->Choice(starts),
                             builder_->Repeat(digit, 2, 2)};
  simple.push_back(builder_->Sequence(code));
  return Both(builder_->Literal("\\"), builder_->Choice(simple));
}

Expression JsonTokens::StringOfLength(int least, int most) {
  const Expression quote = builder_->Literal("\"");
  const Expression parts[] = {quote, builder_->Repeat(builder_->Call(character_), least, most),
                              quote};
  return builder_->Sequence(parts);
}

Expression JsonTokens::Integer(bool may_be_negative) {
  const Expression integer = builder_->Call(integer_);
  return may_be_negative ? Both(builder_->Optional(builder_->Literal("-")), integer) : integer;
}

Expression JsonTokens::Number(bool may_be_negative) {
  const Expression number = builder_->Call(number_);
  return may_be_negative ? Both(builder_->Optional(builder_->Literal("-")), number) : number;
}

Expression JsonTokens::Boolean() {
  const Expression values[] = {builder_->Literal("false"), builder_->Literal("true")};
  return builder_->Choice(values);
}

Expression JsonTokens::OneOf(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return TextsFrom(texts, 0);
}

// Common beginnings are read once, so that a text has one reading however many texts there are.
Expression JsonTokens::TextsFrom(std::span<const std::string> texts, size_t done) {
  std::vector<Expression> options;
  while (!texts.empty()) {
    if (texts.front().size() == done) {
      options.push_back(builder_->Empty());
      texts = texts.subspan(1);
      continue;
    }
    const auto end = std::ranges::find_if(
        texts, [&](const std::string& text) { return text[done] != texts.front()[done]; });
    const auto group = texts.first(static_cast<size_t>(end - texts.begin()));
    // Sorted texts have in common what the first and the last one have in common.
    const std::string_view first = group.front();
    const auto differs = std::ranges::mismatch(first, group.back()).in1;
    const auto common = static_cast<size_t>(differs - first.begin());
    const Expression beginning = builder_->Literal(first.substr(done, common - done));
    options.push_back(group.size() == 1 ? beginning : Both(beginning, TextsFrom(group, common)));
    texts = texts.subspan(group.size());
  }
  return options.size() == 1 ? options.front() : builder_->Choice(options);
}

Expression JsonTokens::PlainExcept(std::u32string_view characters) {
  std::vector<char32_t> excluded = {U'"', U'\\'};
  std::vector<Range> beyond = {{0, kLastAscii}};
  for (const char32_t character : characters) {
    if (character <= kLastAscii) {
      excluded.push_back(character);
    } else {
      beyond.emplace_back(character, character);
    }
  }
  std::ranges::sort(excluded);
  std::vector<Expression> options;
  uint32_t low = kFirstPlain;
  for (const char32_t character : excluded) {
    if (low < character) {
      options.push_back(builder_->Byte(static_cast<uint8_t>(low), uint8_t(character - 1)));
    }
    low = character + 1;
  }
  if (low <= kLastAscii) {
    options.push_back(builder_->Byte(static_cast<uint8_t>(low), uint8_t{kLastAscii}));
  }
  options.push_back(beyond.size() == 1 ? builder_->Call(beyond_ascii_)
                                       : builder_->CharactersExcept(beyond));
  return builder_->Choice(options);
}

Expression JsonTokens::NameExcept(std::span<const std::u32string> names, size_t done) {
  std::vector<Expression> options;
  if (names.front().size() == done) {
    names = names.subspan(1);
  } else {
    options.push_back(builder_->Empty());
  }
  std::u32string excluded;
  while (!names.empty()) {
    const char32_t next = names.front()[done];
    const auto end =
        std::ranges::find_if(names, [&](const std::u32string& name) { return name[done] != next; });
    const auto group = names.first(static_cast<size_t>(end - names.begin()));
    const Range only[] = {{next, next}};
    options.push_back(Both(builder_->Characters(only), NameExcept(group, done + 1)));
    excluded += next;
    names = names.subspan(group.size());
  }
  options.push_back(Both(PlainExcept(excluded),
                         builder_->Repeat(builder_->Call(plain_), 0, GrammarBuilder::kUnbounded)));
  return builder_->Choice(options);
}

Expression JsonTokens::MemberNamed(std::string_view name, Expression value) {
  const Expression parts[] = {builder_->Literal(QuotedText(name)), builder_->Call(colon_), value};
  return builder_->Sequence(parts);
}

Expression JsonTokens::MembersExcept(std::span<const std::string> names, Expression value) {
  std::vector<std::u32string> excluded;
  for (const std::string& name : names) {
    std::u32string characters = CharactersOf(name);
    // A name that needs an escape differs from every name without one.
    if (std::ranges::none_of(characters, NeedsEscape)) {
      excluded.push_back(std::move(characters));
    }
  }
  std::ranges::sort(excluded);
  excluded.erase(std::unique(excluded.begin(), excluded.end()), excluded.end());
  const Expression quote = builder_->Literal("\"");
  const Expression plain = builder_->Repeat(builder_->Call(plain_), 0, GrammarBuilder::kUnbounded);
  const Expression parts[] = {quote, excluded.empty() ? plain : NameExcept(excluded, 0), quote,
                              builder_->Call(colon_), value};
  const Expression member = Shared(builder_->Sequence(parts));
  return Both(member, builder_->Repeat(Both(Comma(), member), 0, GrammarBuilder::kUnbounded));
}

// Reads at least one member. The list is halved again and again, and the second half is shared by
// the texts with and without members of the first, so that the size of the grammar is that of the
// list and its depth the logarithm.
Expression JsonTokens::SomeMembers(std::span<const Member> members) {
  if (members.size() == 1) {
    return members.front().written;
  }
  const auto first = members.first(members.size() / 2);
  const auto second = members.subspan(first.size());
  const bool first_required = std::ranges::any_of(first, &Member::required);
  const bool second_required = std::ranges::any_of(second, &Member::required);
  const Expression later = first_required ? SomeMembers(second) : Shared(SomeMembers(second));
  const Expression more = Both(Comma(), later);
  const Expression with_first =
      Both(SomeMembers(first), second_required ? more : builder_->Optional(more));
  const Expression options[] = {with_first, later};
  return first_required ? with_first : builder_->Choice(options);
}

Expression JsonTokens::Object(std::span<const Member> members) {
  std::vector<Expression> parts = {builder_->Literal("{"), Space()};
  if (!members.empty()) {
    const Expression written = Both(SomeMembers(members), Space());
    const bool required = std::ranges::any_of(members, &Member::required);
    parts.push_back(required ? written : builder_->Optional(written));
  }
  parts.push_back(builder_->Literal("}"));
  return builder_->Sequence(parts);
}

Expression JsonTokens::Array(const Elements& elements) {
  const int most = elements.most;
  const auto count = static_cast<int>(elements.first.size());
  const auto allowed = [&](int before) {
    return most == GrammarBuilder::kUnbounded || before < most;
  };
  // What follows the first ones, each with its comma
  Expression later = builder_->Empty();
  const int before = std::max(count, 1);
  if (elements.rest.has_value() && allowed(before)) {
    later = builder_->Repeat(Shared(Both(Comma(), *elements.rest)),
                             std::max(elements.least - before, 0),
                             most == GrammarBuilder::kUnbounded ? most : most - before);
  }
  for (int i = count - 1; i > 0; --i) {
    if (allowed(i)) {
      const Expression parts[] = {Comma(), elements.first[i], later};
      const Expression written = builder_->Sequence(parts);
      later = i < elements.least ? written : builder_->Optional(written);
    }
  }
  std::vector<Expression> parts = {builder_->Literal("["), Space()};
  if (allowed(0) && (count > 0 || elements.rest.has_value())) {
    const Expression first = count > 0 ? elements.first.front() : *elements.rest;
    const Expression all[] = {first, later, Space()};
    const Expression written = builder_->Sequence(all);
    parts.push_back(elements.least > 0 ? written : builder_->Optional(written));
  }
  parts.push_back(builder_->Literal("]"));
  return builder_->Sequence(parts);
}

Expression JsonTokens::ObjectOfAny(Expression value) {
  const Expression parts[] = {String(), builder_->Call(colon_), value};
  const Expression member = Shared(builder_->Sequence(parts));
  const Member members[] = {
      {Both(member, builder_->Repeat(Both(Comma(), member), 0, GrammarBuilder::kUnbounded)),
       /*required=*/false}};
  return Object(members);
}

Expression JsonTokens::ArrayOfAny(Expression value) {
  Elements elements;
  elements.rest = value;
  return Array(elements);
}

Expression JsonTokens::AnyNested(int nesting) {
  while (any_.size() <= static_cast<size_t>(nesting)) {
    std::vector<Expression> options = {String(), Number(/*may_be_negative=*/true), Boolean(),
                                       Null()};
    if (!any_.empty()) {
      const Expression inner = builder_->Call(any_.back());
      options.push_back(ObjectOfAny(inner));
      options.push_back(ArrayOfAny(inner));
    }
    any_.push_back(builder_->AddRule());
    builder_->Define(any_.back(), builder_->Choice(options));
  }
  return builder_->Call(any_[static_cast<size_t>(nesting)]);
}

Expression JsonTokens::AnyValue() {
  return AnyNested(kMaxNesting);
}

Expression JsonTokens::AnyObject() {
  return ObjectOfAny(AnyNested(kMaxNesting - 1));
}

}  // namespace ruvd::inference
