// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/fair_shared_mutex.h"
#include "storage/graph/graph_edge.h"
#include "storage/limits.h"

namespace ruvd::storage {

// The largest change of a weight by one Nudge, as a share of it. The instant loop adjusts edges
// after every request, and no single request may change them much.
inline constexpr float kMaxWeightAdjustment = 0.05F;
// A nudge down stops at this weight, and a nudge up starts from at least this weight. Otherwise a
// weight of nothing could never rise again.
inline constexpr float kMinEdgeWeight = 0.01F;

enum class EdgeDirection : uint8_t { kOut, kIn, kBoth };

struct NeighbourQuery {
  EdgeDirection direction = EdgeDirection::kOut;
  std::optional<EdgeType> type = {};  // nothing: every type
  float min_weight = 0;
  size_t limit = 100;  // 1 to limits::kMaxNeighbours
};

struct Neighbourhood {
  std::vector<GraphEdge> edges;  // heaviest first
  // limits::kMaxEdgesLookedAt rows were read (usually because nodes are being removed) and more are
  // left: heavier edges than the last one may be missing.
  bool truncated = false;
};

// Typed, weighted edges between sessions, patterns and witness entries. An edge is written with
// both of its directions in one batch and survives kill -9. A node exists as long as it has edges.
// Only the nodes under removal are also kept in memory. Thread-safe; writers run one at a time.
class GraphStore {
 public:
  // `database` must outlive the store.
  static absl::StatusOr<std::unique_ptr<GraphStore>> Open(Database& database);

  // Adds an edge, or sets the weight of the existing one and keeps its creation time. Returns
  // INVALID_ARGUMENT for weights outside 0 to 1, loops, unknown kinds or ids out of range;
  // FAILED_PRECONDITION (BEING_REMOVED) while one of the nodes is being removed; or an error of
  // Database::Write.
  absl::Status Put(const EdgeKey& key, float weight);

  // Multiplies a weight by 1 + `change`, where `change` is clamped to +-kMaxWeightAdjustment, and
  // keeps the result between kMinEdgeWeight and 1; returns the new weight. A weight below the floor
  // stays or rises from the floor. Returns NOT_FOUND, or INVALID_ARGUMENT for a change that is not
  // finite.
  absl::StatusOr<float> AdjustWeight(const EdgeKey& key, float change);

  // Both return NOT_FOUND for an unknown edge.
  absl::StatusOr<GraphEdge> Get(const EdgeKey& key) const;
  absl::Status Delete(const EdgeKey& key);

  // Returns the edges of a node, heaviest first. Returns INVALID_ARGUMENT for limits out of range.
  absl::StatusOr<Neighbourhood> Neighbours(const GraphNode& node,
                                           const NeighbourQuery& query) const;

  // Returns the first node of a kind after `after`, in an internal order, that has an edge; nullopt
  // when there is no other node. It allows walks over all nodes that block no other caller.
  absl::StatusOr<std::optional<GraphNode>> NextNode(GraphNodeKind kind,
                                                    const std::optional<GraphNode>& after) const;

  // Hides a node and its edges at once and durably; RemoveBatch deletes the edges later. Both work
  // below the soft disk reserve.
  absl::Status RemoveNode(const GraphNode& node);
  // Deletes at most `limit` edges of removed nodes in one batch; returns how many. Returns 0 when
  // none is left and the nodes may be used again. It continues after a restart. Returns
  // INVALID_ARGUMENT for a limit that is not 1 to limits::kMaxNeighbours.
  absl::StatusOr<size_t> RemoveBatch(size_t limit);
  // Returns the number of nodes whose edges are still being deleted.
  size_t removals() const;

 private:
  // The number of rows that one call may still read.
  struct RowBudget {
    size_t left = 0;
    bool exceeded = false;
  };

  explicit GraphStore(Database& database) : database_(database) {}

  absl::Status CheckKey(const EdgeKey& key) const;
  bool IsHidden(const GraphNode& node) const;
  absl::Status WriteEdge(const GraphEdge& edge, const std::optional<float>& old_weight,
                         Batch batch = Batch());
  // Deletes the index rows, found by their keys, of an edge whose own row does not open.
  absl::Status DeleteDamaged(const EdgeKey& key, Batch* batch) const;
  // Appends the heaviest edges of one direction and type to `edges`, at most `query.limit`. Every
  // row read costs one of `budget`; when the budget is exceeded, it ends early.
  absl::Status Collect(const GraphNode& node, bool outward, EdgeType type,
                       const NeighbourQuery& query, RowBudget* budget,
                       std::vector<GraphEdge>* edges) const;
  absl::StatusOr<Neighbourhood> QueryNeighbours(const GraphNode& node, const NeighbourQuery& query,
                                                RowBudget* budget) const;
  absl::StatusOr<size_t> AddDeletions(const GraphNode& node, size_t limit, Batch* batch) const;

  Database& database_;
  Mutex writer_;
  mutable FairSharedMutex state_;  // guards the members below
  std::set<GraphNode> removals_;
};

}  // namespace ruvd::storage
