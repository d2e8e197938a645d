// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>

#include "storage/db/row_key.h"
#include "storage/graph/graph_rows.h"
#include "storage/verify/row_checks.h"
#include "storage/verify/row_problems.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kEdge;

// Checks an edge and its two rows in order of weight.
absl::Status CheckEdge(const Database& database, const RowView& row, RowProblems* complaints) {
  const std::optional<EdgeKey> key = graph::DecodeEdgeRowKey(row.key);
  if (!key) {
    complaints->Add(row.key, "this is not a key of an edge");
    return absl::OkStatus();
  }
  const absl::StatusOr<GraphEdge> edge = graph::DecodeEdge(row.value, *key);
  if (!complaints->Ok(row.key, edge.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      complaints->Expect(database, kFamily, row.key, graph::OutKey(*key, edge->weight)));
  return complaints->Expect(database, kFamily, row.key, graph::InKey(*key, edge->weight));
}

// Checks a row in order of weight and its edge.
absl::Status CheckOrder(const Database& database, const RowView& row,
                        const std::optional<graph::WeightedKey>& weighted,
                        RowProblems* complaints) {
  if (!weighted) {
    complaints->Add(row.key, "this is not a key of an edge's order");
    return absl::OkStatus();
  }
  const std::string edge_key = graph::EdgeRowKey(weighted->key);
  const absl::StatusOr<std::string> stored = database.Get(kFamily, edge_key);
  if (absl::IsNotFound(stored.status())) {
    complaints->Add(row.key, "there is no such edge");
    return absl::OkStatus();
  }
  if (!stored.ok()) {
    return absl::OkStatus();  // Database::Verify reports it
  }
  const absl::StatusOr<GraphEdge> edge = graph::DecodeEdge(*stored, weighted->key);
  if (edge.ok() && edge->weight != weighted->weight) {
    complaints->Add(row.key, fmt::format("its weight is {}, but the edge has {}", weighted->weight,
                                         edge->weight));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckEdgeRows(Database& database, StoreReport* report) {
  RowProblems complaints("edge", report);
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (row.key.starts_with(graph::kEdgePrefix)) {
      RETURN_IF_ERROR(CheckEdge(database, row, &complaints));
    } else if (row.key.starts_with(graph::kOutPrefix)) {
      RETURN_IF_ERROR(CheckOrder(database, row, graph::DecodeOutKey(row.key), &complaints));
    } else if (row.key.starts_with(graph::kInPrefix)) {
      RETURN_IF_ERROR(CheckOrder(database, row, graph::DecodeInKey(row.key), &complaints));
    } else if (!graph::DecodeRemovalKey(row.key)) {
      complaints.Add(row.key, "this is not a key of the graph");
    }
    return true;
  };
  return database.Scan(kFamily, "", "", check, RowProblems::SkipRow);
}

}  // namespace ruvd::storage
