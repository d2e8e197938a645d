// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::limits {

// A grammar has at most this size. A state takes some 30 bytes, an edge 16.
inline constexpr size_t kMaxGrammarStates = 100'000;
inline constexpr size_t kMaxGrammarEdges = 400'000;
// Size of what a request may hold a completion to: the text of a schema, an expression or a
// grammar, and the number of choices.
inline constexpr size_t kMaxConstraintBytes = 64 << 10;
inline constexpr size_t kMaxChoices = 1000;
// How deep expressions, groups and schemas may be nested; they are read by recursion.
inline constexpr int kMaxConstraintDepth = 64;
// The largest bound of a repetition, such as {0,1000} or maxLength.
inline constexpr int kMaxRepetitions = 10'000;
// How deep rules may be open, such as arrays in arrays.
inline constexpr size_t kMaxOpenRules = 256;
// The states of a completion's automaton whose moves are remembered (some 1 KiB each), and masks
// over the vocabulary. Above it all are forgotten and made again.
inline constexpr size_t kMaxRememberedBytes = 8 << 20;
inline constexpr size_t kMaxRememberedMasks = 512;
// The work of an automaton (Automaton::work) for one byte, for one mask and for a whole completion,
// and the memory of one mask. Only a grammar made to be slow needs more, and its completion fails.
inline constexpr uint64_t kMaxMoveWork = 1'000'000;
inline constexpr uint64_t kMaxMaskWork = 10'000'000;
inline constexpr uint64_t kMaxConstraintWork = 100'000'000;
inline constexpr size_t kMaxMaskBytes = 64 << 20;
// The work of comparing the options of all oneOf of a schema with each other, in values
inline constexpr size_t kMaxOptionWork = 200'000;
// White space that JSON may have between two tokens. A model that may write more spends the tokens
// of its completion on it.
inline constexpr int kMaxJsonSpace = 1;

}  // namespace ruvd::limits
