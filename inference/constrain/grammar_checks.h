// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// The edges of every state of a grammar that is being built.
using GrammarEdges = std::vector<std::vector<Grammar::Edge>>;

// Removes the edges from which no text can be completed, so that an automaton which can go on can
// also end. INVALID_ARGUMENT if no text can be completed from `start`.
absl::Status RemoveDeadEnds(Grammar::State start, GrammarEdges* edges);

// INVALID_ARGUMENT if a rule calls itself, or rules call each other in a circle, before a byte is
// read.
absl::Status RefuseLeftRecursion(const GrammarEdges& edges);

// Sets Edge::is_last.
void MarkLastCalls(GrammarEdges* edges);

}  // namespace ruvd::inference
