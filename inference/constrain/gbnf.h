// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Returns the grammar of a text in GBNF, the notation of llama.cpp:
//   name ::= a b | c            a rule; names have letters, digits and -, and the rule root is the
//                               whole text
//   # comment                   up to the end of the line
//   "text"  [a-z]  [^a-z]  .    characters; . is any character, also a newline
//   \n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH
//   (...)  *  +  ?  {m}  {m,}  {m,n}
// A rule ends with its line, but goes on behind ::= and |, and inside parentheses.
//
// INVALID_ARGUMENT with the number of the line if the text is longer than
// limits::kMaxConstraintBytes, is not UTF-8, breaks the syntax, nests groups deeper than
// limits::kMaxConstraintDepth, repeats more often than limits::kMaxRepetitions, has no root,
// defines a rule twice or not at all, or refers to tokens such as <think>, which is not supported;
// without the line if a rule begins with itself, if the grammar is too large, or if nothing
// matches. Thread-safe.
absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfGbnf(std::string_view text);

}  // namespace ruvd::inference
