// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/merge_entries.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace ruvd::inference {
namespace {

// Sets all but the `density` share of largest entries to zero. If several entries equal the
// smallest one kept, all of them stay.
void Trim(double density, std::vector<double>* values) {
  const auto kept =
      std::min(values->size(),
               static_cast<size_t>(std::ceil(density * static_cast<double>(values->size()))));
  if (kept == values->size() || kept == 0) {
    return;
  }
  std::vector<double> sizes(values->size());
  std::transform(values->begin(), values->end(), sizes.begin(),
                 [](double value) { return std::abs(value); });
  const auto border = sizes.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
  std::nth_element(sizes.begin(), border, sizes.end(), std::greater<>());
  const double least = *border;
  for (double& value : *values) {
    value = std::abs(value) < least ? 0 : value;
  }
}

std::vector<double> ElectAndMean(const std::vector<WeightedEntries>& parts) {
  const std::vector<double> mass = SumEntries(parts);
  std::vector<double> merged(mass.size());
  for (size_t i = 0; i < mass.size(); ++i) {
    double sum = 0;
    double weights = 0;
    for (const WeightedEntries& part : parts) {
      if (part.values[i] * mass[i] > 0) {
        sum += part.weight * part.values[i];
        weights += part.weight;
      }
    }
    merged[i] = weights > 0 ? sum / weights : 0;
  }
  return merged;
}

}  // namespace

std::vector<double> SumEntries(const std::vector<WeightedEntries>& parts) {
  std::vector<double> sum(parts.front().values.size());
  for (const WeightedEntries& part : parts) {
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += part.weight * part.values[i];
    }
  }
  return sum;
}

std::vector<double> MergeEntries(std::vector<WeightedEntries>* parts, const EntryRule& rule) {
  for (WeightedEntries& part : *parts) {
    if (rule.ties) {
      Trim(rule.density, &part.values);
      continue;
    }
    for (double& value : part.values) {
      value = rule.random->Bernoulli(rule.density) ? value / rule.density : 0;
    }
  }
  return rule.ties ? ElectAndMean(*parts) : SumEntries(*parts);
}

}  // namespace ruvd::inference
