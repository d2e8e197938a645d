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
  // Of requests that do not say.
  bool on = false;
  // Sessions idle for longer are forgotten, and so are completions that ended longer ago.
  Duration idle_limit = limits::kInstantIdle;
  // Memories and trails together; the sessions used least recently go when there is more.
  size_t max_bytes = limits::kMaxInstantBytes;
  size_t max_trails = limits::kMaxInstantTrails;
};

// Whose memory it is. Users never share one, even where they send the same session id.
struct InstantSession {
  std::string user_id;
  std::string session_id;
  auto operator<=>(const InstantSession&) const = default;
};

// A completion that feedback may come for.
struct InstantTrail {
  InstantSession session;
  inference::CommitTrail commits;
  std::vector<std::string> patterns = {};  // ids of those whose adapters served it
  // Of the token that ended the text, where one did; edited texts have none to compare it with.
  std::optional<int> end_position = std::nullopt;
  TimePoint admitted{};  // when the request came
};

// What the node holds of the instant loop now.
struct InstantStatus {
  size_t sessions = 0;
  size_t positions = 0;
  size_t trails = 0;
  size_t bytes = 0;
};

// The instant loop: what sessions were taught, and the last completions that they may be taught by.
// Lives in memory only: it holds what users' words mean to the model, and a restart forgets it.
// Thread-safe; no call takes longer than a millisecond but for edits of thousands of tokens.
class InstantLoop {
 public:
  explicit InstantLoop(const InstantLoopOptions& options) : options_(options) {}

  bool on_by_default() const { return options_.on; }

  // What a session was taught; null for nothing, also where it has no id. It stays as it is,
  // whatever is learned meanwhile.
  std::shared_ptr<const inference::InstantMemory> MemoryOf(const InstantSession& session);

  // Keeps a completion's commits until newer ones displace them or the idle limit has passed. Those
  // of a session without an id, empty ones, and those of a user who was forgotten after the request
  // came are dropped.
  void Keep(const std::string& response_id, InstantTrail trail);

  // Teaches the session of a response what its feedback says, in place of what an earlier feedback
  // of the same response said; returns how many lessons that were. An edited text says nothing of
  // the token that ended the completion. NOT_FOUND where the response's commits are not held (any
  // more).
  absl::StatusOr<size_t> LearnReward(const std::string& response_id, float reward);
  absl::StatusOr<size_t> LearnEdit(const std::string& response_id,
                                   std::span<const inference::TokenId> edited);
  // Takes back what a response's feedback taught and what it said of patterns: exactly, as far as
  // InstantMemory and limits::kMaxPatternVotes go. NOT_FOUND where there is nothing (any more).
  absl::Status Undo(const std::string& response_id);

  // Whether Undo would find what the response taught this session.
  bool Remembers(const InstantSession& session, const std::string& response_id);

  // The factor of a pattern's similarity in a session: 1, more the more often it served completions
  // that were liked. Every response that was rated changes a pattern's weight by 5 %, between 0.5
  // and 2 of what it began with; the factor is its fourth root, so that no score swings by more
  // than 20 %.
  float PatternFactor(const InstantSession& session, const std::string& pattern_id);

  // Forgets all that is held of a user, and what completions under way would bring.
  void ForgetUser(std::string_view user_id);

  InstantStatus status();

 private:
  // What the feedback of a response said of the patterns that served it.
  struct PatternVote {
    std::string response_id;
    float direction = 0;  // 1: for them, -1: against them
    std::vector<std::string> patterns;
  };
  struct Session {
    std::shared_ptr<const inference::InstantMemory> memory;
    std::deque<PatternVote> votes;                 // oldest first, one of a response at most
    std::map<std::string, float> settled_weights;  // of patterns, by votes older than these
    TimePoint used{};
    std::list<InstantSession>::iterator order;
  };
  struct Kept {
    InstantTrail trail;
    TimePoint ended{};
    std::list<std::string>::iterator order;
  };

  absl::StatusOr<Kept*> FindTrail(const std::string& response_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Session& Use(const InstantSession& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t Learn(const std::string& response_id, const Kept& kept,
               std::span<const inference::InstantLesson> lessons, float direction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts it in place of an earlier vote of the response.
  static void Vote(Session* session, PatternVote vote);
  static bool TakeBackVote(Session* session, const std::string& response_id);
  void DropTrail(const std::string& response_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropSession(const InstantSession& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const InstantLoopOptions options_;
  Mutex mutex_;
  std::map<InstantSession, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  std::list<InstantSession> by_use_ ABSL_GUARDED_BY(mutex_);  // longest unused first
  std::map<std::string, Kept> trails_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> by_age_ ABSL_GUARDED_BY(mutex_);  // oldest first
  ForgottenUsers forgotten_ ABSL_GUARDED_BY(mutex_);
  size_t trail_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t memory_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::serving
