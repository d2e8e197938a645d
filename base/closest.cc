// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/closest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace ruvd {
namespace {

// Configuration keys, flags and verbs are shorter than this, so a longer word is no misspelling of
// one of them.
constexpr size_t kMaxComparedBytes = 128;

// Returns the only candidate with the same text after its last dot, or nullptr.
const std::string* WithLastPartOf(std::string_view word, std::span<const std::string> candidates) {
  const size_t dot = word.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == word.size()) {
    return nullptr;
  }
  const std::string_view ending = word.substr(dot);
  const std::string* found = nullptr;
  for (const std::string& candidate : candidates) {
    if (candidate.ends_with(ending)) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &candidate;
    }
  }
  return found;
}

// Returns the most edits by which a person may have meant `candidate`: a third of the letters. For
// dotted words in the same section only the part after it counts: otherwise a long section would
// make any two of its keys similar.
int MostSlips(std::string_view word, std::string_view candidate) {
  const size_t section = word.rfind('.') + 1;  // 0 if there is no section
  const bool shared = word.substr(0, section) == candidate.substr(0, section);
  return static_cast<int>(std::max<size_t>(2, (word.size() - (shared ? section : 0)) / 3));
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedBytes);
  b = b.substr(0, kMaxComparedBytes);
  const size_t width = b.size() + 1;
  std::vector<int> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      int& here = cost[i * width + j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      const int substitute = cost[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      here = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, cost[(i - 2) * width + j - 2] + 1);
      }
    }
  }
  return cost.back();
}

std::string ClosestOf(std::string_view word, std::span<const std::string> candidates) {
  if (const std::string* same = WithLastPartOf(word, candidates)) {
    return *same;
  }
  std::string best;
  int best_distance = std::numeric_limits<int>::max();
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(word, candidate);
    if (distance <= MostSlips(word, candidate) && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string closest = ClosestOf(word, candidates);
  return closest.empty() ? std::string() : fmt::format("; did you mean {}?", closest);
}

}  // namespace ruvd
