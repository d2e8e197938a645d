// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "inference/instant/instant_memory.h"
#include "inference/sampler/commit_trail.h"
#include "node/limits.h"
#include "node/serving/erasure_fence.h"

namespace ruvd::serving {

struct InstantLoopOptions {
  const Clock* clock = nullptr;  // borrowed
  inference::InstantMemoryOptions memory = {};
  inference::InstantStepOptions step = {};
  // For requests that do not say.
  bool on = false;
  // Sessions that are idle for longer are forgotten, and so are completions that ended longer ago.
  Duration idle_limit = limits::kInstantIdle;
  // Limit for memories and trails together; beyond it, the least recently used sessions are
  // dropped.
  size_t max_bytes = limits::kMaxInstantBytes;
  size_t max_trails = limits::kMaxInstantTrails;
};

// The owner of a memory. Users never share one, even if they send the same session id.
struct InstantSession {
  std::string user_id;
  std::string session_id;
  auto operator<=>(const InstantSession&) const = default;
};

// A completion that feedback may refer to.
struct InstantTrail {
  InstantSession session;
  inference::CommitTrail commits;
  std::vector<std::string> patterns = {};  // ids of the patterns whose adapters served it
  // Position of the token that ended the text, if there was one; edited texts have no token to
  // compare with it.
  std::optional<int> end_position = std::nullopt;
  TimePoint admitted{};  // when the request arrived
};

// What the instant loop holds in memory now.
struct InstantStatus {
  size_t sessions = 0;
  size_t positions = 0;
  size_t trails = 0;
  size_t bytes = 0;
};

// The instant loop: what sessions were taught, and the last completions that feedback may refer to.
// It lives in memory only, because it holds what users' words mean to the model; a restart forgets
// it. Thread-safe; no call takes longer than a millisecond, except edits of thousands of tokens.
class InstantLoop {
 public:
  explicit InstantLoop(const InstantLoopOptions& options) : options_(options) {}

  bool on_by_default() const { return options_.on; }

  // Returns what a session was taught; null if nothing, or if the session has no id. The returned
  // memory does not change when the session learns more.
  std::shared_ptr<const inference::InstantMemory> MemoryOf(const InstantSession& session);

  // Keeps a completion's commits until newer ones displace them or the idle limit has passed. Drops
  // trails that are empty, whose session has no id, or whose user was forgotten after the request
  // arrived.
  void StoreTrail(const std::string& response_id, InstantTrail trail);

  // Teaches the session of a response what the feedback says, in place of an earlier feedback on
  // the same response, and returns the number of lessons. An edited text says nothing about the
  // token that ended the completion. Returns NOT_FOUND if the response's commits are not held, or
  // no longer.
  absl::StatusOr<size_t> LearnReward(const std::string& response_id, float reward);
  absl::StatusOr<size_t> LearnEdit(const std::string& response_id,
                                   std::span<const inference::TokenId> edited);
  // Takes back what the feedback on a response taught and its vote on patterns. This is exact
  // within the limits of InstantMemory and limits::kMaxPatternVotes. Returns NOT_FOUND if there is
  // nothing to take back.
  absl::Status Undo(const std::string& response_id);

  // Returns whether Undo would find something that the response taught this session.
  bool HasLessonsOf(const InstantSession& session, const std::string& response_id);

  // Returns the factor for a pattern's similarity in a session: 1 at first, higher the more often
  // the pattern served completions that users liked. Each rated response changes a pattern's weight
  // by 5 %, within [0.5, 2] times its initial value; the factor is the fourth root of the weight,
  // so no score changes by more than 20 %.
  float PatternFactor(const InstantSession& session, const std::string& pattern_id);

  // Forgets everything held for a user, including what running completions would bring.
  void ForgetUser(std::string_view user_id);

  InstantStatus status();

 private:
  // What the feedback on a response says about the patterns that served it.
  struct PatternVote {
    std::string response_id;
    float direction = 0;  // 1: for the patterns, -1: against them
    std::vector<std::string> patterns;
  };
  struct Session {
    std::shared_ptr<const inference::InstantMemory> memory;
    std::deque<PatternVote> votes;                 // oldest first, at most one per response
    std::map<std::string, float> settled_weights;  // by pattern, from votes that were dropped
    TimePoint used{};
    std::list<InstantSession>::iterator order;
  };
  struct StoredTrail {
    InstantTrail trail;
    TimePoint ended{};
    std::list<std::string>::iterator order;
  };

  absl::StatusOr<StoredTrail*> FindTrail(const std::string& response_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Session& Use(const InstantSession& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t Learn(const std::string& response_id, const StoredTrail& kept,
               std::span<const inference::InstantLesson> lessons, float direction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replaces an earlier vote of the same response.
  static void Vote(Session* session, PatternVote vote);
  static bool RevertVote(Session* session, const std::string& response_id);
  void DropTrail(const std::string& response_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropSession(const InstantSession& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const InstantLoopOptions options_;
  Mutex mutex_;
  std::map<InstantSession, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  std::list<InstantSession> by_use_ ABSL_GUARDED_BY(mutex_);  // the least recently used first
  std::map<std::string, StoredTrail> trails_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> by_age_ ABSL_GUARDED_BY(mutex_);  // oldest first
  ErasedUsers forgotten_ ABSL_GUARDED_BY(mutex_);
  size_t trail_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t memory_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::serving
