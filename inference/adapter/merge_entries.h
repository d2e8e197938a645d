// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "base/random.h"

namespace ruvd::inference {

// The operand of a merge entry by entry: a vector and its weight. All vectors of a merge have one
// length.
struct WeightedEntries {
  std::vector<double> values;
  double weight = 1;
};

// Returns the sum of weight * values.
std::vector<double> SumEntries(const std::vector<WeightedEntries>& parts);

struct EntryRule {
  bool ties = true;  // else DARE
  double density = 0.2;
  Random* random = nullptr;  // for DARE
};

// Merges with TIES or DARE as merge.h describes. Changes the parts.
std::vector<double> MergeEntries(std::vector<WeightedEntries>* parts, const EntryRule& rule);

}  // namespace ruvd::inference
