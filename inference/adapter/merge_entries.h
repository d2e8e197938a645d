// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "base/random.h"

namespace ruvd::inference {

// What merges entry by entry: vectors of one length with their weights.
struct WeightedEntries {
  std::vector<double> values;
  double weight = 1;
};

// Sum of weight * values.
std::vector<double> SumEntries(const std::vector<WeightedEntries>& parts);

struct EntryRule {
  bool ties = true;  // else DARE
  double density = 0.2;
  Random* random = nullptr;  // of DARE
};

// TIES or DARE as merge.h says; changes the parts.
std::vector<double> MergeEntries(std::vector<WeightedEntries>* parts, const EntryRule& rule);

}  // namespace ruvd::inference
