// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/aggregate.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

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
    rule.Combine({.updates = column.updates}, core.values);
    result.cores.push_back(std::move(core));
  }
  return result;
}

}  // namespace ruvd
