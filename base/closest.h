// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ruvd {

// Returns the number of edits that turn one text into the other (optimal string alignment
// distance). An insertion, a deletion, a substitution and a swap of two neighbours cost one each.
// Only the first 128 bytes of each text are compared.
int EditDistance(std::string_view a, std::string_view b);

// Returns the candidate that `word` most probably means, or "" if there is no plausible one. If the
// word has a dot, the only candidate with the same text after its last dot is meant, such as a key
// that is now in another section. Otherwise the nearest candidate is meant, with at most two edits
// or a third of the word's length, whichever is more; a section that both share does not count as
// length. The first of several equally near candidates wins.
std::string ClosestOf(std::string_view word, std::span<const std::string> candidates);

// Returns the text "; did you mean X?" for a message, or "" if the word has no plausible candidate.
std::string Suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace ruvd
