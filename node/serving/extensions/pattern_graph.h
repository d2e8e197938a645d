// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/graph/graph_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::serving {

// The owner of a session; users never share one.
struct SessionOwner {
  std::string_view user_id;  // empty: no user
  std::string_view session_id;
};

// What feedback says about the patterns that served a session, stored as edges of the graph store
// so that it survives a restart: session -> pattern (kUsed) and, between patterns that served one
// completion, the one with the lower id -> the other (kSimilar). An edge starts at
// kInitialEdgeWeight, and every rated response moves it by GraphStore's kMaxWeightAdjustment. Each
// response's vote is kept in edges of its own, so that it can be taken back: witness entry ->
// session (kInSession) and witness entry -> pattern (kUsed, weight 1 for it, 0 against it). Edges
// live as long as the session in the index and the pattern in its store. Thread-safe; votes must
// come from one thread.
class PatternGraph {
 public:
  // All references are borrowed. `on`: whether feedback moves edges and searches read them.
  PatternGraph(storage::GraphStore& graph, const storage::PatternStore& patterns,
               const storage::SessionIndex& sessions, bool on);

  bool on() const { return on_; }

  // Moves the edges of the patterns that served a response: up if the reward (0 to 1) teaches, down
  // if it rejects. Replaces the effect of an earlier feedback on the response. Returns whether an
  // edge moved. Does nothing if the graph is off, if the index does not know the session as its
  // user's, and for deleted patterns. Returns the errors of GraphStore.
  absl::StatusOr<bool> Vote(const storage::Trajectory& trajectory, float reward);
  // Takes back the vote of a response; this is exact unless a weight reached its bounds meanwhile.
  // Returns whether there was a vote.
  absl::StatusOr<bool> RevertVote(const std::string& response_id);

  // Returns the factor for a pattern's similarity in a session: between 1 - kMaxWeightAdjustment
  // and 1 + kMaxWeightAdjustment by the weight of their edge, and 1 if there is no edge or the
  // graph is off. `pattern_id` is hexadecimal.
  float Factor(const SessionOwner& owner, std::string_view pattern_id) const;

  // Hides the edges of a session that leaves the index, and those of its responses, at once. If an
  // error or a simultaneous vote leaves some, Maintain hides them once the session is gone.
  void RemoveSession(const std::string& session_id);

  // Does one bounded step of the work that is not part of a request: finds edges of sessions and
  // patterns that were deleted before this object watched, hides edges of patterns that are
  // deleted, and removes the rows of hidden edges. Returns true if there is more to do.
  absl::StatusOr<bool> Maintain();

  // The weight of an edge before any feedback.
  static constexpr float kInitialEdgeWeight = 0.5F;

 private:
  bool Owns(const SessionOwner& owner) const;
  absl::Status HideSession(const std::string& session_id);
  absl::Status HideDeletedPatterns();
  absl::StatusOr<bool> Walk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AdjustEdges(const std::string& session_id,
                           const std::vector<storage::GraphNode>& patterns, float direction,
                           bool back);
  absl::Status AdjustEdge(const storage::EdgeKey& key, float direction, bool back);
  absl::Status RemoveNode(const storage::GraphNode& node);
  absl::StatusOr<bool> Reconcile(storage::GraphNodeKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> FollowPatterns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  storage::GraphStore& graph_;
  const storage::PatternStore& patterns_;
  const storage::SessionIndex& sessions_;
  const bool on_;
  Mutex leaving_mutex_;  // taken within the index's write turn, so held only briefly
  std::set<std::string> leaving_ ABSL_GUARDED_BY(leaving_mutex_);
  Mutex mutex_;                                    // serialises maintenance
  uint64_t followed_ ABSL_GUARDED_BY(mutex_) = 0;  // the last change of patterns seen
  // The kind of node that the walk over edges from before the start looks at next; nullopt: the
  // walk is done.
  std::optional<storage::GraphNodeKind> walking_ ABSL_GUARDED_BY(mutex_) =
      storage::GraphNodeKind::kSession;
  std::optional<storage::GraphNode> walked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::serving
