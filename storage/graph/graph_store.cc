// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/graph/graph_store.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/graph/graph_rows.h"
#include "storage/reasons.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kEdge;

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status Corrupt() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "an edge row has a bad key; restore the store from a backup");
}

absl::Status CheckNode(const GraphNode& node) {
  if (node.kind < GraphNodeKind::kSession || node.kind > GraphNodeKind::kWitness ||
      node.id.empty() || node.id.size() > limits::kMaxGraphIdBytes) {
    return Invalid(
        "a graph node cannot have kind {} and an id of {} bytes; use a known kind and 1 to {}",
        static_cast<int>(node.kind), node.id.size(), limits::kMaxGraphIdBytes);
  }
  return absl::OkStatus();
}

bool Heavier(const GraphEdge& a, const GraphEdge& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
}

// Scans rows whose keys have all the information, so rows with values that do not open are shown
// too.
absl::Status ScanKeys(const Database& database, const std::string& prefix,
                      const std::function<absl::StatusOr<bool>(std::string_view key)>& callback) {
  return database.Scan(
      kFamily, prefix, EndOfPrefix(prefix), [&](const RowView& row) { return callback(row.key); },
      callback);
}

void DeleteEdge(const EdgeKey& key, float weight, Batch* batch) {
  batch->Delete(kFamily, graph::EdgeRowKey(key));
  batch->Delete(kFamily, graph::OutKey(key, weight));
  batch->Delete(kFamily, graph::InKey(key, weight));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GraphStore>> GraphStore::Open(Database& database) {
  std::unique_ptr<GraphStore> store(new GraphStore(database));
  const auto load = [&store](std::string_view key) -> absl::StatusOr<bool> {
    std::optional<GraphNode> node = graph::DecodeRemovalKey(key);
    if (!node) {
      return Corrupt();
    }
    store->removals_.insert(*std::move(node));
    return true;
  };
  RETURN_IF_ERROR(ScanKeys(database, graph::kRemovalPrefix, load));
  return store;
}

bool GraphStore::IsHidden(const GraphNode& node) const {
  const std::shared_lock lock(state_);
  return removals_.contains(node);
}

absl::Status GraphStore::CheckKey(const EdgeKey& key) const {
  RETURN_IF_ERROR(CheckNode(key.from));
  RETURN_IF_ERROR(CheckNode(key.to));
  if (key.from == key.to || key.type < EdgeType::kInSession ||
      static_cast<uint8_t>(key.type) > kMaxEdgeType) {
    return Invalid(
        "an edge cannot have type {} and lead from a node to {}; use a known type and two nodes",
        static_cast<int>(key.type), key.from == key.to ? "itself" : "another");
  }
  return absl::OkStatus();
}

absl::Status GraphStore::WriteEdge(const GraphEdge& edge, const std::optional<float>& old_weight,
                                   Batch batch) {
  if (old_weight && *old_weight != edge.weight) {
    batch.Delete(kFamily, graph::OutKey(edge.key, *old_weight));
    batch.Delete(kFamily, graph::InKey(edge.key, *old_weight));
  }
  batch.Put(kFamily, graph::EdgeRowKey(edge.key), graph::EncodeEdge(edge));
  if (!old_weight || *old_weight != edge.weight) {
    batch.Put(kFamily, graph::OutKey(edge.key, edge.weight), "");
    batch.Put(kFamily, graph::InKey(edge.key, edge.weight), "");
  }
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status GraphStore::DeleteDamaged(const EdgeKey& key, Batch* batch) const {
  const std::string prefix = graph::OutPrefix(key.from, key.type);
  return ScanKeys(database_, prefix, [&](std::string_view row) -> absl::StatusOr<bool> {
    if (const auto edge = graph::DecodeOutKey(row); edge && edge->key == key) {
      DeleteEdge(key, edge->weight, batch);
    }
    return true;
  });
}

absl::Status GraphStore::Put(const EdgeKey& key, float weight) {
  RETURN_IF_ERROR(CheckKey(key));
  if (!(weight >= 0.0F && weight <= 1.0F)) {
    return Invalid("an edge cannot have weight {}; use 0 to 1", weight);
  }
  const MutexLock writer(writer_);
  if (IsHidden(key.from) || IsHidden(key.to)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kBeingRemoved,
                 "a node of the edge is being removed; add the edge once that is done");
  }
  const int64_t now_ms = database_.clock().WallMillis();
  // A weight of -0 would come last in the order.
  GraphEdge edge{.key = key, .weight = weight + 0.0F, .created_ms = now_ms, .updated_ms = now_ms};
  std::optional<float> old_weight;
  Batch batch;
  if (const absl::StatusOr<GraphEdge> known = Get(key); known.ok()) {
    edge.created_ms = known->created_ms;
    old_weight = known->weight;
  } else if (absl::IsDataLoss(known.status())) {
    RETURN_IF_ERROR(DeleteDamaged(key, &batch));
  } else if (!absl::IsNotFound(known.status())) {
    return known.status();
  }
  return WriteEdge(edge, old_weight, std::move(batch));
}

absl::StatusOr<float> GraphStore::AdjustWeight(const EdgeKey& key, float change) {
  if (!std::isfinite(change)) {
    return Invalid("the change of a weight is not a number; use -{} to {}", kMaxWeightAdjustment,
                   kMaxWeightAdjustment);
  }
  const MutexLock writer(writer_);
  ASSIGN_OR_RETURN(GraphEdge edge, Get(key));
  const float old_weight = edge.weight;
  const float from = change > 0 ? std::max(old_weight, kMinEdgeWeight) : old_weight;
  const float low = std::min(old_weight, kMinEdgeWeight);
  edge.weight = std::clamp(
      from * (1 + std::clamp(change, -kMaxWeightAdjustment, kMaxWeightAdjustment)), low, 1.0F);
  edge.updated_ms = database_.clock().WallMillis();
  RETURN_IF_ERROR(WriteEdge(edge, old_weight));
  return edge.weight;
}

absl::StatusOr<GraphEdge> GraphStore::Get(const EdgeKey& key) const {
  RETURN_IF_ERROR(CheckKey(key));
  absl::StatusOr<std::string> row = database_.Get(kFamily, graph::EdgeRowKey(key));
  if (absl::IsNotFound(row.status()) || IsHidden(key.from) || IsHidden(key.to)) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "there is no edge of this type between the two nodes; add it first");
  }
  RETURN_IF_ERROR(row.status());
  return graph::DecodeEdge(*row, key);
}

absl::Status GraphStore::Delete(const EdgeKey& key) {
  const MutexLock writer(writer_);
  const absl::StatusOr<GraphEdge> edge = Get(key);
  Batch batch;
  if (absl::IsDataLoss(edge.status())) {
    batch.Delete(kFamily, graph::EdgeRowKey(key));
    RETURN_IF_ERROR(DeleteDamaged(key, &batch));
  } else {
    RETURN_IF_ERROR(edge.status());
    DeleteEdge(key, edge->weight, &batch);
  }
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status GraphStore::Collect(const GraphNode& node, bool outward, EdgeType type,
                                 const NeighbourQuery& query, RowBudget* budget,
                                 std::vector<GraphEdge>* edges) const {
  const std::string prefix = outward ? graph::OutPrefix(node, type) : graph::InPrefix(node, type);
  std::vector<graph::WeightedKey> found;
  const auto look = [&](std::string_view key) -> absl::StatusOr<bool> {
    std::optional<graph::WeightedKey> edge =
        outward ? graph::DecodeOutKey(key) : graph::DecodeInKey(key);
    if (!edge) {
      return Corrupt();
    }
    if (edge->weight < query.min_weight) {
      return false;
    }
    if (budget->left == 0) {
      budget->exceeded = true;
      return false;
    }
    --budget->left;
    if (!IsHidden(outward ? edge->key.to : edge->key.from)) {
      found.push_back(*std::move(edge));
    }
    return found.size() < query.limit;
  };
  RETURN_IF_ERROR(ScanKeys(database_, prefix, look));
  for (const graph::WeightedKey& weighted : found) {
    const absl::StatusOr<GraphEdge> edge = Get(weighted.key);
    if (absl::IsNotFound(edge.status()) || absl::IsDataLoss(edge.status())) {
      continue;  // deleted during the scan, or damaged: it must not hide the others
    }
    RETURN_IF_ERROR(edge.status());
    edges->push_back(*edge);
  }
  return absl::OkStatus();
}

absl::StatusOr<Neighbourhood> GraphStore::QueryNeighbours(const GraphNode& node,
                                                          const NeighbourQuery& query,
                                                          RowBudget* budget) const {
  Neighbourhood around;
  if (IsHidden(node)) {
    return around;
  }
  for (uint8_t number = 1; number <= kMaxEdgeType; ++number) {
    const auto type = static_cast<EdgeType>(number);
    if (query.type && *query.type != type) {
      continue;
    }
    if (query.direction != EdgeDirection::kIn) {
      RETURN_IF_ERROR(Collect(node, /*outward=*/true, type, query, budget, &around.edges));
    }
    if (query.direction != EdgeDirection::kOut) {
      RETURN_IF_ERROR(Collect(node, /*outward=*/false, type, query, budget, &around.edges));
    }
  }
  std::sort(around.edges.begin(), around.edges.end(), Heavier);
  around.edges.resize(std::min(around.edges.size(), query.limit));
  around.truncated = budget->exceeded;
  return around;
}

absl::StatusOr<Neighbourhood> GraphStore::Neighbours(const GraphNode& node,
                                                     const NeighbourQuery& query) const {
  RETURN_IF_ERROR(CheckNode(node));
  if (query.limit == 0 || query.limit > limits::kMaxNeighbours) {
    return Invalid("a query cannot return {} neighbours; ask for 1 to {}", query.limit,
                   limits::kMaxNeighbours);
  }
  RowBudget budget{.left = limits::kMaxEdgesLookedAt};
  return QueryNeighbours(node, query, &budget);
}

absl::StatusOr<std::optional<GraphNode>> GraphStore::NextNode(
    GraphNodeKind kind, const std::optional<GraphNode>& after) const {
  std::optional<GraphNode> next = after;
  do {
    std::string least;  // the smaller of the keys that edges begin and end with
    const std::optional<GraphNode> behind = std::exchange(next, std::nullopt);
    for (const bool outward : {true, false}) {
      const std::string prefix = outward ? graph::kOutPrefix : graph::kInPrefix;
      const std::string all = prefix + static_cast<char>(kind);
      const std::string start = behind ? EndOfPrefix(prefix + graph::EncodeNode(*behind)) : all;
      const auto look = [&](std::string_view key) -> absl::StatusOr<bool> {
        const auto edge = outward ? graph::DecodeOutKey(key) : graph::DecodeInKey(key);
        if (!edge) {
          return Corrupt();
        }
        const GraphNode& node = outward ? edge->key.from : edge->key.to;
        if (std::string encoded = graph::EncodeNode(node); !next || encoded < least) {
          least = std::move(encoded);
          next = node;
        }
        return false;
      };
      RETURN_IF_ERROR(database_.Scan(
          kFamily, start, EndOfPrefix(all), [&](const RowView& row) { return look(row.key); },
          look));
    }
  } while (next && IsHidden(*next));
  return next;
}

absl::Status GraphStore::RemoveNode(const GraphNode& node) {
  RETURN_IF_ERROR(CheckNode(node));
  const MutexLock writer(writer_);
  Batch batch;
  batch.MarkFreesSpace();
  batch.Put(kFamily, graph::RemovalKey(node), "");
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const std::unique_lock lock(state_);
  removals_.insert(node);
  return absl::OkStatus();
}

absl::StatusOr<size_t> GraphStore::AddDeletions(const GraphNode& node, size_t limit,
                                                Batch* batch) const {
  size_t count = 0;
  for (const bool outward : {true, false}) {
    const std::string prefix =
        (outward ? graph::kOutPrefix : graph::kInPrefix) + graph::EncodeNode(node);
    RETURN_IF_ERROR(ScanKeys(database_, prefix, [&](std::string_view key) -> absl::StatusOr<bool> {
      if (count >= limit) {
        return false;
      }
      const auto edge = outward ? graph::DecodeOutKey(key) : graph::DecodeInKey(key);
      if (!edge) {
        return Corrupt();
      }
      DeleteEdge(edge->key, edge->weight, batch);
      ++count;
      return true;
    }));
  }
  return count;
}

absl::StatusOr<size_t> GraphStore::RemoveBatch(size_t limit) {
  if (limit == 0 || limit > limits::kMaxNeighbours) {
    return Invalid("cannot delete {} edges at once; use 1 to {}", limit, limits::kMaxNeighbours);
  }
  const MutexLock writer(writer_);
  while (true) {
    GraphNode node;
    {
      const std::shared_lock lock(state_);
      if (removals_.empty()) {
        return 0;
      }
      node = *removals_.begin();
    }
    Batch batch;
    ASSIGN_OR_RETURN(const size_t count, AddDeletions(node, limit, &batch));
    if (count == 0) {
      batch.Delete(kFamily, graph::RemovalKey(node));
    }
    RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
    if (count > 0) {
      return count;
    }
    const std::unique_lock lock(state_);
    removals_.erase(node);
  }
}

size_t GraphStore::removals() const {
  const std::shared_lock lock(state_);
  return removals_.size();
}

}  // namespace ruvd::storage
