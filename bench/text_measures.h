// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd::bench {

// Returns the number of different n-grams over the number of all n-grams; 1 for a text shorter than
// n.
double Distinct(std::span<const inference::TokenId> tokens, size_t n);

// Whether the text repeats itself: a piece of 1 to 16 tokens comes three times in a row over at
// least six tokens, or four tokens in a row occur three times.
bool Loops(std::span<const inference::TokenId> tokens);

// Mean and 95 % interval over groups (prompts) of a value per completion: the means of 1000 samples
// of the groups with replacement, seeded. `values[g]` are the values of group g.
struct GroupInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
GroupInterval BootstrapMean(const std::vector<std::vector<double>>& values);

}  // namespace ruvd::bench
