// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/pattern_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/instant/lessons.h"
#include "node/log/log.h"
#include "storage/reasons.h"

namespace ruvd::serving {
namespace {

// Number of rows per step; other users of the writer wait that long.
constexpr size_t kRowsAtOnce = 128;

storage::GraphNode SessionNode(std::string_view session_id) {
  return {storage::GraphNodeKind::kSession, std::string(session_id)};
}

storage::GraphNode PatternNode(const storage::PatternId& id) {
  return {storage::GraphNodeKind::kPattern, std::string(AsText(id))};
}

storage::GraphNode ResponseNode(std::string_view response_id) {
  return {storage::GraphNodeKind::kWitness, std::string(response_id)};
}

storage::EdgeKey Used(storage::GraphNode from, storage::GraphNode pattern) {
  return {std::move(from), storage::EdgeType::kUsed, std::move(pattern)};
}

// Returns 1 for a vote for the patterns, -1 for one against them, else 0.
float DirectionOf(float reward) {
  return reward >= inference::kTeachingReward    ? 1.0F
         : reward <= inference::kRejectingReward ? -1.0F
                                                 : 0.0F;
}

}  // namespace

PatternGraph::PatternGraph(storage::GraphStore& graph, const storage::PatternStore& patterns,
                           const storage::SessionIndex& sessions, bool on)
    : graph_(graph),
      patterns_(patterns),
      sessions_(sessions),
      on_(on),
      followed_(patterns.Stats().last_sequence) {}

bool PatternGraph::Owns(const SessionOwner& owner) const {
  const auto session = sessions_.Get(owner.session_id);
  return session.ok() && (*session)->user_id.value_or("") == owner.user_id;
}

absl::StatusOr<bool> PatternGraph::Vote(const storage::Trajectory& trajectory, float reward) {
  if (!on_) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool before, RevertVote(trajectory.response_id));
  const float direction = DirectionOf(reward);
  std::vector<storage::GraphNode> patterns;
  for (const storage::PatternId& id : trajectory.patterns) {
    if (patterns_.GetWithoutPayload(id).ok()) {
      patterns.push_back(PatternNode(id));
    }
  }
  if (direction == 0 || patterns.empty() || !Owns({trajectory.user_id, trajectory.session_id})) {
    return before;
  }
  std::ranges::sort(patterns);
  const auto repeated = std::ranges::unique(patterns);
  patterns.erase(repeated.begin(), repeated.end());
  // The vote is written first, so that every move can be taken back.
  const storage::GraphNode response = ResponseNode(trajectory.response_id);
  RETURN_IF_ERROR(
      graph_.Put({response, storage::EdgeType::kInSession, SessionNode(trajectory.session_id)}, 1));
  for (const storage::GraphNode& pattern : patterns) {
    RETURN_IF_ERROR(graph_.Put(Used(response, pattern), direction > 0 ? 1 : 0));
  }
  RETURN_IF_ERROR(AdjustEdges(trajectory.session_id, patterns, direction, /*back=*/false));
  if (!Owns({trajectory.user_id,
             trajectory.session_id})) {  // the session went while its edges were written
    RETURN_IF_ERROR(HideSession(trajectory.session_id));
    return before;
  }
  return true;
}

absl::StatusOr<bool> PatternGraph::RevertVote(const std::string& response_id) {
  const storage::GraphNode response = ResponseNode(response_id);
  ASSIGN_OR_RETURN(const storage::Neighbourhood said,
                   graph_.Neighbours(response, {.limit = limits::kMaxNeighbours}));
  std::string session_id;
  std::vector<storage::GraphNode> patterns;
  float direction = 0;
  for (const storage::GraphEdge& edge : said.edges) {
    if (edge.key.type == storage::EdgeType::kInSession) {
      session_id = edge.key.to.id;
    } else {
      patterns.push_back(edge.key.to);
      direction = edge.weight > 0 ? 1 : -1;
    }
  }
  std::ranges::sort(patterns);
  if (!session_id.empty()) {
    RETURN_IF_ERROR(AdjustEdges(session_id, patterns, direction, /*back=*/true));
  }
  for (const storage::GraphEdge& edge : said.edges) {
    absl::Status deleted = graph_.Delete(edge.key);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) {
      return deleted;
    }
  }
  return !patterns.empty();
}

absl::Status PatternGraph::AdjustEdges(const std::string& session_id,
                                       const std::vector<storage::GraphNode>& patterns,
                                       float direction, bool back) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    RETURN_IF_ERROR(AdjustEdge(Used(SessionNode(session_id), patterns[i]), direction, back));
    for (size_t j = i + 1; j < patterns.size(); ++j) {
      RETURN_IF_ERROR(
          AdjustEdge({patterns[i], storage::EdgeType::kSimilar, patterns[j]}, direction, back));
    }
  }
  return absl::OkStatus();
}

absl::Status PatternGraph::AdjustEdge(const storage::EdgeKey& key, float direction, bool back) {
  const absl::StatusOr<storage::GraphEdge> edge = graph_.Get(key);
  if (back) {
    if (absl::IsNotFound(edge.status())) {
      return absl::OkStatus();  // its session or pattern was deleted
    }
    RETURN_IF_ERROR(edge.status());
    // Dividing undoes the earlier nudge exactly; a nudge in the other direction would not.
    return graph_.Put(key,
                      std::clamp(edge->weight / (1 + storage::kMaxWeightAdjustment * direction),
                                 storage::kMinEdgeWeight, 1.0F));
  }
  if (!edge.ok()) {  // there is no edge, or it is damaged
    RETURN_IF_ERROR(graph_.Put(key, kInitialEdgeWeight));
  }
  return graph_.AdjustWeight(key, storage::kMaxWeightAdjustment * direction).status();
}

float PatternGraph::Factor(const SessionOwner& owner, std::string_view pattern_id) const {
  const std::optional<std::string> id = FromHex(pattern_id);
  if (!on_ || !id || id->size() != sizeof(storage::PatternId) || !Owns(owner)) {
    return 1;
  }
  const absl::StatusOr<storage::GraphEdge> edge =
      graph_.Get(Used(SessionNode(owner.session_id), {storage::GraphNodeKind::kPattern, *id}));
  if (!edge.ok()) {
    return 1;
  }
  return 1 + storage::kMaxWeightAdjustment *
                 std::clamp((edge->weight - kInitialEdgeWeight) / kInitialEdgeWeight, -1.0F, 1.0F);
}

absl::Status PatternGraph::RemoveNode(const storage::GraphNode& node) {
  ASSIGN_OR_RETURN(
      const storage::Neighbourhood any,
      graph_.Neighbours(node, {.direction = storage::EdgeDirection::kBoth, .limit = 1}));
  return any.edges.empty() ? absl::OkStatus() : graph_.RemoveNode(node);
}

absl::Status PatternGraph::HideSession(const std::string& session_id) {
  const storage::GraphNode session = SessionNode(session_id);
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(const storage::Neighbourhood responses,
                     graph_.Neighbours(session, {.direction = storage::EdgeDirection::kIn,
                                                 .type = storage::EdgeType::kInSession,
                                                 .limit = limits::kMaxNeighbours}));
    for (const storage::GraphEdge& edge : responses.edges) {
      RETURN_IF_ERROR(graph_.RemoveNode(edge.key.from));
    }
    more = responses.edges.size() == limits::kMaxNeighbours;
  }
  return RemoveNode(session);
}

void PatternGraph::RemoveSession(const std::string& session_id) {
  {
    const MutexLock lock(leaving_mutex_);
    leaving_.insert(session_id);
  }
  if (const absl::Status hidden = HideSession(session_id); !hidden.ok()) {
    LogWarning("the relations of a session are kept until the next maintenance: {} [{}]",
               MessageOf(hidden), ReasonOf(hidden));
  }
}

// RemoveSession is called before the session leaves the index; edges that votes wrote in between
// are hidden here.
absl::Status PatternGraph::HideDeletedPatterns() {
  std::vector<std::string> leaving;
  {
    const MutexLock lock(leaving_mutex_);
    leaving.assign(leaving_.begin(), leaving_.end());
  }
  absl::Status status;
  for (const std::string& id : leaving) {
    if (sessions_.Get(id).ok()) {
      continue;  // not gone yet, or a new session has this id
    }
    {
      const MutexLock lock(leaving_mutex_);
      leaving_.erase(id);  // before hiding, because another session of this id may leave meanwhile
    }
    if (const absl::Status hidden = HideSession(id); !hidden.ok()) {
      status = hidden;
      const MutexLock lock(leaving_mutex_);
      leaving_.insert(id);
    }
  }
  return status;
}

absl::StatusOr<bool> PatternGraph::Reconcile(storage::GraphNodeKind kind) {
  for (size_t i = 0; i < kRowsAtOnce; ++i) {
    ASSIGN_OR_RETURN(walked_, graph_.NextNode(kind, walked_));
    if (!walked_) {
      return false;
    }
    if (kind == storage::GraphNodeKind::kSession) {
      if (!sessions_.Get(walked_->id).ok()) {
        RemoveSession(walked_->id);
      }
      continue;
    }
    storage::PatternId id{};
    if (walked_->id.size() == id.size()) {
      std::ranges::copy(walked_->id, id.begin());
    }
    if (absl::IsNotFound(patterns_.GetWithoutPayload(id).status())) {
      RETURN_IF_ERROR(graph_.RemoveNode(*walked_));
    }
  }
  return true;
}

absl::StatusOr<bool> PatternGraph::FollowPatterns() {
  const absl::StatusOr<storage::PatternChangePage> page = patterns_.Changes(followed_, kRowsAtOnce);
  if (ReasonOf(page.status()) == reasons::kLogTruncated) {
    followed_ = patterns_.Stats().last_sequence;
    walking_ = storage::GraphNodeKind::kPattern;
    walked_.reset();
    return true;
  }
  RETURN_IF_ERROR(page.status());
  for (const storage::PatternChange& change : page->changes) {
    if (change.kind != storage::PatternChangeKind::kPut &&
        absl::IsNotFound(patterns_.GetWithoutPayload(change.id).status())) {
      RETURN_IF_ERROR(RemoveNode(PatternNode(change.id)));
    }
  }
  followed_ = page->last_sequence;
  return page->more;
}

absl::StatusOr<bool> PatternGraph::Walk() {
  if (!walking_) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool more, Reconcile(*walking_));
  if (more) {
    return true;
  }
  walked_.reset();
  const bool sessions = walking_ == storage::GraphNodeKind::kSession;
  walking_ = sessions ? std::optional(storage::GraphNodeKind::kPattern) : std::nullopt;
  return sessions;
}

absl::StatusOr<bool> PatternGraph::Maintain() {
  const MutexLock lock(mutex_);
  const absl::Status hidden = HideDeletedPatterns();
  const absl::StatusOr<bool> walk = Walk();
  const absl::StatusOr<bool> follow = FollowPatterns();
  // Hidden rows are deleted even if the steps above failed, so that they do not stay on the disk.
  ASSIGN_OR_RETURN(const size_t deleted, graph_.RemoveBatch(kRowsAtOnce));
  RETURN_IF_ERROR(hidden);
  RETURN_IF_ERROR(walk.status());
  RETURN_IF_ERROR(follow.status());
  return *walk || *follow || deleted > 0;
}

}  // namespace ruvd::serving
