// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Adds to `builder` an expression that reads the texts which match a regular expression from their
// first to their last byte. One ^ at the beginning of the pattern and one $ at its end say what
// holds anyway.
//
// The syntax is that of ECMAScript with characters of UTF-8:
//   .  [a-z]  [^a-z]            any character but a newline; classes
//   \d \w \s \D \W \S           of ASCII, also in classes
//   \n \r \t \f \v \0 \xHH \uHHHH \u{H...}, and any escaped punctuation
//   (...)  (?:...)  (?<name>...)  |
//   *  +  ?  {m}  {m,}  {m,n}   also with a ? behind them, which does not change what matches
// A brace that no digit follows stands for itself.
//
// INVALID_ARGUMENT with the offset of the byte if the pattern is longer than
// limits::kMaxConstraintBytes, is not UTF-8, breaks the syntax, nests groups deeper than
// limits::kMaxConstraintDepth, repeats more often than limits::kMaxRepetitions, or uses what cannot
// be followed byte by byte or is not supported: look-around, backreferences, word boundaries,
// inline flags, possessive repetitions, atomic groups, Unicode classes, and ^ or $ elsewhere. After
// an error the builder holds parts that nothing uses. It is thread-safe for
// different builders.
absl::StatusOr<GrammarBuilder::Expression> ExpressionOfRegex(std::string_view pattern,
                                                             GrammarBuilder* builder);

// Returns the grammar of the texts that match a regular expression. INVALID_ARGUMENT as above, or
// if the grammar is too large or nothing matches. Thread-safe.
absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfRegex(std::string_view pattern);

}  // namespace ruvd::inference
