// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Makes the expressions of JSON's tokens and values (RFC 8259). White space, at most
// limits::kMaxJsonSpace characters, may stand between two tokens. No expression but Space and Comma
// begins or ends with it. Every value that is read is finite: numbers have at most 15 digits before
// the point and 15 after it, and exponents have two. Not thread-safe. The builder must outlive it.
class JsonTokens {
 public:
  using Expression = GrammarBuilder::Expression;
  // How deep arrays and objects are nested in a value of which nothing else is known.
  static constexpr int kMaxNesting = 32;
  // The longest name in bytes that MembersExcept keeps out.
  static constexpr size_t kMaxNameLength = 256;

  // A member of an object: its name, colon and value, or several members with commas.
  struct Member {
    Expression written = 0;
    bool required = false;
  };
  // The elements of an array.
  struct Elements {
    std::vector<Expression> first;   // the elements that have their own expressions
    std::optional<Expression> rest;  // all further ones; without it there are no others
    int least = 0;
    int most = GrammarBuilder::kUnbounded;
  };

  explicit JsonTokens(GrammarBuilder* builder);

  Expression Space() const { return builder_->Call(space_); }
  // Reads a comma with the white space around it.
  Expression Comma() const { return builder_->Call(comma_); }

  // Reads a string of any length.
  Expression String() const { return builder_->Call(string_); }
  // Reads a string of `least` to `most` characters; an escape is one character.
  Expression StringOfLength(int least, int most);
  Expression Integer(bool may_be_negative);
  Expression Number(bool may_be_negative);
  Expression Boolean();
  Expression Null() { return builder_->Literal("null"); }
  // Reads one of these texts, which need not differ. No text at all cannot be satisfied.
  Expression OneOf(std::vector<std::string> texts);

  // Reads a name, which is written with the fewest escapes, a colon and a value.
  Expression MemberNamed(std::string_view name, Expression value);
  // Reads any number of members, but at least one. Their names have no escapes and are not among
  // `names`, which are UTF-8 and have at most kMaxNameLength bytes.
  Expression MembersExcept(std::span<const std::string> names, Expression value);
  // Reads an object with these members in their order; those that are not required may be absent.
  Expression Object(std::span<const Member> members);
  // Reads an array. The largest number of elements is not below the least, which without `rest` is
  // at most the number of `first`.
  Expression Array(const Elements& elements);

  // Reads any value or any object that is nested at most kMaxNesting deep.
  Expression AnyValue();
  Expression AnyObject();

 private:
  Expression Both(Expression first, Expression second);
  // Returns a call of a rule that reads `body`, so that each use costs one edge.
  Expression Shared(Expression body);
  Expression Escape();
  Expression Digits(int least, int most);
  // Reads one of sorted, different texts whose first `done` bytes are equal and already read.
  Expression TextsFrom(std::span<const std::string> texts, size_t done);
  // Reads what is left of a name that is not among these sorted, different ones, of which the first
  // `done` characters are equal and already read.
  Expression NameExcept(std::span<const std::u32string> names, size_t done);
  // Reads a character of a string that is written without an escape and is not among these.
  Expression PlainExcept(std::u32string_view characters);
  Expression SomeMembers(std::span<const Member> members);
  // Reads any value with at most `nesting` levels of arrays and objects.
  Expression AnyNested(int nesting);
  Expression ObjectOfAny(Expression value);
  Expression ArrayOfAny(Expression value);

  GrammarBuilder* const builder_;
  GrammarBuilder::Rule space_ = 0;
  GrammarBuilder::Rule comma_ = 0;
  GrammarBuilder::Rule colon_ = 0;
  GrammarBuilder::Rule beyond_ascii_ = 0;  // one character
  GrammarBuilder::Rule plain_ = 0;         // one character without an escape
  GrammarBuilder::Rule character_ = 0;
  GrammarBuilder::Rule string_ = 0;
  GrammarBuilder::Rule integer_ = 0;       // without a sign
  GrammarBuilder::Rule number_ = 0;        // without a sign
  std::vector<GrammarBuilder::Rule> any_;  // by nesting; filled when it is first needed
};

// Returns a text in quotation marks, with the fewest escapes. The text is UTF-8.
std::string QuotedText(std::string_view text);

}  // namespace ruvd::inference
