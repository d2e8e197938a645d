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

// Whose session it is; users never share one.
struct SessionOwner {
  std::string_view user_id;  // empty: nobody's
  std::string_view session_id;
};

// What feedback says of the patterns that served a session, as edges of the graph store, so that it
// outlives a restart: session -> pattern (kUsed) and, of patterns that served one completion, the
// one with the lower id -> the other (kSimilar). They begin at kUsualEdge, and every response that
// was rated moves them by GraphStore's kMaxNudge. What a response said is kept as edges of its own,
// witness entry -> session (kInSession) and -> pattern (kUsed, weight 1 for it, 0 against it), so
// that it can be taken back. Edges live as long as the session in the index and the pattern in its
// store. Thread-safe; votes come from one thread.
class PatternGraph {
 public:
  // All is borrowed. `on`: whether feedback moves edges and searches read them.
  PatternGraph(storage::GraphStore& graph, const storage::PatternStore& patterns,
               const storage::SessionIndex& sessions, bool on);

  bool on() const { return on_; }

  // Moves the edges of the patterns that served a response of a session, up for a reward (0 to 1)
  // that teaches, down for one that rejects, in place of what an earlier feedback of it said; true
  // where an edge moved. Nothing where it is off, for a session that the index does not know as its
  // user's, and for patterns that are gone. The errors of GraphStore.
  absl::StatusOr<bool> Vote(const storage::Trajectory& trajectory, float reward);
  // Takes back what a response said, as far as no weight was at its bounds meanwhile; true where it
  // had said something.
  absl::StatusOr<bool> TakeBack(const std::string& response_id);

  // The factor of a pattern's similarity in a session: between 1 - kMaxNudge and 1 + kMaxNudge by
  // the weight of their edge, 1 without one or where it is off. `pattern_id`: in hexadecimal.
  float Factor(const SessionOwner& owner, std::string_view pattern_id) const;

  // A session leaves the index: hides its edges and those of its responses at once. What that
  // misses, because of an error or of a vote at the same time, Maintain hides once the session is
  // gone.
  void RemoveSession(const std::string& session_id);

  // One bounded step of what is to be done beside requests: finds edges of sessions and patterns
  // that went while nobody looked, hides edges of patterns that go, deletes rows of what is hidden.
  // True where there is more to do.
  absl::StatusOr<bool> Maintain();

  // Of an edge that nobody said anything of.
  static constexpr float kUsualEdge = 0.5F;

 private:
  bool Owns(const SessionOwner& owner) const;
  absl::Status HideSession(const std::string& session_id);
  absl::Status HideGone();
  absl::StatusOr<bool> Walk() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MoveAll(const std::string& session_id,
                       const std::vector<storage::GraphNode>& patterns, float direction, bool back);
  absl::Status Move(const storage::EdgeKey& key, float direction, bool back);
  absl::Status RemoveNode(const storage::GraphNode& node);
  absl::StatusOr<bool> Reconcile(storage::GraphNodeKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> FollowPatterns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  storage::GraphStore& graph_;
  const storage::PatternStore& patterns_;
  const storage::SessionIndex& sessions_;
  const bool on_;
  Mutex leaving_mutex_;  // taken in a writer's turn of the index, and held for moments only
  std::set<std::string> leaving_ ABSL_GUARDED_BY(leaving_mutex_);
  Mutex mutex_;                                    // of maintenance
  uint64_t followed_ ABSL_GUARDED_BY(mutex_) = 0;  // the last change of patterns looked at
  // Which nodes a walk over what the store had at the start looks at next; none: it is done.
  std::optional<storage::GraphNodeKind> walking_ ABSL_GUARDED_BY(mutex_) =
      storage::GraphNodeKind::kSession;
  std::optional<storage::GraphNode> walked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::serving
