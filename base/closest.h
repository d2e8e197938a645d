// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ruvd {

// Edits that turn one text into the other: insertions, deletions, substitutions and swaps of
// neighbours, one each (optimal string alignment). Texts longer than kMaxComparedBytes are cut.
int EditDistance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, "" where none is near enough to be a plausible slip of the pen
// (more than a third of its length away). Ties go to the first.
std::string ClosestOf(std::string_view word, std::span<const std::string> candidates);

// "; did you mean X?" or "" for a word without a plausible candidate.
std::string Suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace ruvd
