// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/aggregate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

using Updates = std::span<const std::span<const float>>;

void ClippedMean(Updates updates, double clip_norm, std::span<float> out) {
  std::vector<double> sum(out.size(), 0.0);
  for (const auto& update : updates) {
    double square = 0;
    for (float v : update) {
      square += double{v} * v;
    }
    const double norm = std::sqrt(square);
    const double scale = norm > clip_norm ? clip_norm / norm : 1.0;
    for (size_t i = 0; i < out.size(); ++i) {
      sum[i] += scale * update[i];
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(sum[i] / static_cast<double>(updates.size()));
  }
}

// The contributors of one core, in the order of their ids.
struct Column {
  uint32_t rank = 0;
  std::vector<std::span<const float>> updates;
};
using Columns = std::map<std::pair<std::string, uint32_t>, Column>;

absl::StatusOr<Columns> CollectColumns(std::span<const Contribution> sorted) {
  Columns columns;
  for (const Contribution& contribution : sorted) {
    for (const CoreDelta& core : contribution.delta->cores) {
      Column& column = columns[{core.target, core.bank}];
      if (!column.updates.empty() &&
          (column.rank != core.rank || column.updates.front().size() != core.values.size())) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                     "updates of {} have ranks {} and {}; check updates before aggregating them",
                     core.target, column.rank, core.rank);
      }
      column.rank = core.rank;
      column.updates.emplace_back(core.values);
    }
  }
  return columns;
}

}  // namespace

void TrimmedMean::Combine(Updates updates, std::span<float> out) const {
  const size_t n = updates.size();
  if (n < 3) {
    ClippedMean(updates, clip_norm_, out);
    return;
  }
  const size_t trim =
      std::clamp<size_t>(static_cast<size_t>(trim_ * static_cast<double>(n)), 1, (n - 1) / 2);
  std::vector<float> values(n);
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t j = 0; j < n; ++j) {
      values[j] = updates[j][i];
    }
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (size_t j = trim; j < n - trim; ++j) {
      sum += values[j];
    }
    out[i] = static_cast<float>(sum / static_cast<double>(n - 2 * trim));
  }
}

absl::StatusOr<AdapterDelta> Aggregate(std::span<const Contribution> contributions,
                                       const AggregationRule& rule) {
  if (contributions.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "there is no update to aggregate; wait for the first one");
  }
  std::vector<Contribution> sorted(contributions.begin(), contributions.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Contribution& a, const Contribution& b) { return a.origin < b.origin; });
  const auto twice = std::adjacent_find(
      sorted.begin(), sorted.end(),
      [](const Contribution& a, const Contribution& b) { return a.origin == b.origin; });
  if (twice != sorted.end()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "node {} contributes twice; give its newest update only",
                 ToHex(twice->origin).substr(0, 16));
  }
  ASSIGN_OR_RETURN(const Columns columns, CollectColumns(sorted));
  AdapterDelta result;
  for (const auto& [key, column] : columns) {
    CoreDelta core{.target = key.first, .bank = key.second, .rank = column.rank, .values = {}};
    core.values.resize(column.updates.front().size());
    rule.Combine(column.updates, core.values);
    result.cores.push_back(std::move(core));
  }
  return result;
}

}  // namespace ruvd
