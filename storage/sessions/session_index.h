// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "storage/db/database.h"
#include "storage/fair_shared_mutex.h"
#include "storage/limits.h"
#include "storage/sessions/session_state.h"
#include "storage/similarity/similarity_index.h"

namespace ruvd::storage {

struct SessionIndexOptions {
  uint32_t dimension = 0;        // of context embeddings
  std::string embedded_by = {};  // id of the model package that makes them
  // a session expires after this time without activity
  std::chrono::milliseconds idle_limit = limits::kSessionIdle;
  size_t capacity = limits::kMaxSessions;  // above it the longest idle sessions are removed
  // Called with every session that is about to be removed, whatever the cause, while the writer's
  // lock is held: it must not write to the index. May be empty.
  std::function<void(const std::string& session_id)> on_removal = nullptr;
};

// The sessions that a search is limited to; an empty field admits all.
struct SessionFilter {
  std::string user_id = {};
  std::string adapter = {};
};

struct SessionHit {
  std::shared_ptr<const SessionState> session;
  float similarity = 0;  // cosine of the context embeddings
};

// Conversation state by session id. Every state is in memory, for the request path, and in a row,
// which survives kill -9 once Put returns. The rows of a user are sealed with the user's keys;
// erasing those makes the rows unreadable. What a session stored before it had a user is sealed by
// the family's key and stays in the tables until they are compacted. Thread-safe: readers run
// concurrently and never wait for the disk; writers run one at a time.
class SessionIndex {
 public:
  // Reads all sessions; drops none, but skips rows that do not open or decode. `database` must
  // outlive the index.
  static absl::StatusOr<std::unique_ptr<SessionIndex>> Open(Database& database,
                                                            const SessionIndexOptions& options);

  // Returns the state of a session, from memory, or NOT_FOUND.
  absl::StatusOr<std::shared_ptr<const SessionState>> Get(std::string_view session_id) const;

  // Stores a state or replaces the one of its session id. Above the capacity the same batch removes
  // the longest idle session. A context embedded by another model than the index's is kept but not
  // found by similarity. Returns INVALID_ARGUMENT, LIMIT_EXCEEDED, WRONG_DIMENSION or an error of
  // Database::Write.
  absl::Status Put(SessionState session);

  // Reads, changes and stores a state while no other writer runs. A missing session starts empty,
  // created at `now_ms` (UTC). Even if the wall clock went back, the session counts as active after
  // all others. `change` must not call the index.
  absl::Status Update(std::string_view session_id, int64_t now_ms,
                      const std::function<void(SessionState*)>& change);

  // Returns NOT_FOUND for an unknown session.
  absl::Status Delete(std::string_view session_id);

  // Returns at most `limit` sessions that match the filter, most recently active first.
  std::vector<std::shared_ptr<const SessionState>> Find(const SessionFilter& filter,
                                                        size_t limit) const;
  // Returns the `k` sessions with the most similar contexts among those that match the filter.
  // Returns WRONG_DIMENSION or INVALID_ARGUMENT on failure.
  absl::StatusOr<std::vector<SessionHit>> Search(std::span<const float> context, size_t k,
                                                 const SessionFilter& filter = {}) const;

  // Deletes at most `limit` sessions that have been idle for too long at `now_ms` (UTC) in one
  // batch, the longest idle ones first. Returns how many; the owner calls again while that is
  // `limit`.
  absl::StatusOr<size_t> ExpireBatch(int64_t now_ms, size_t limit);

  // Deletes at most `limit` sessions of a user and returns how many.
  absl::StatusOr<size_t> ForgetUser(std::string_view user_id, size_t limit);

  // Forgets a user's sessions, `batch` at a time, before and after `erase`, which destroys the
  // user's keys. Returns how many sessions there were. What the user says meanwhile begins a new
  // session. Returns the errors of `erase`; if it fails, call it again.
  absl::StatusOr<size_t> EraseUser(std::string_view user_id, size_t batch,
                                   const std::function<absl::Status()>& erase);

  size_t size() const;
  // Returns how many rows Open skipped; `ruvd store verify` names them.
  size_t undecodable() const { return undecodable_; }

 private:
  using Shared = std::shared_ptr<const SessionState>;
  using IdleKey = std::pair<int64_t, std::string>;  // last active, session id

  SessionIndex(Database& database, const SessionIndexOptions& options,
               std::unique_ptr<SimilarityIndex> contexts)
      : database_(database), options_(options), contexts_(std::move(contexts)) {}

  absl::Status PutLocked(SessionState session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);
  absl::Status Remove(const std::vector<std::string>& ids) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);
  void NotifyRemoval(const std::string& session_id) const;
  // Compares the sessions exactly, one by one: few sessions belong to one user or use one adapter.
  absl::StatusOr<std::vector<SessionHit>> SearchAmong(std::span<const float> context, size_t k,
                                                      const std::vector<Shared>& sessions) const;
  // These methods take state_ or need it.
  void Insert(Shared session);
  void Erase(const std::string& session_id);
  std::string LongestIdle() const;
  int64_t NewestActiveMs() const;
  // Returns whether the session's context may be compared with others.
  bool Comparable(const SessionState& session) const {
    return !session.context_embedding.empty() && session.embedded_by == options_.embedded_by;
  }

  Database& database_;
  const SessionIndexOptions options_;
  const std::unique_ptr<SimilarityIndex> contexts_;
  size_t undecodable_ = 0;  // set by Open
  Mutex writer_;            // held over a batch; taken before state_
  // guards the members below; never held while rows are read or written
  mutable FairSharedMutex state_;
  StringMap<Shared> sessions_;
  std::set<IdleKey> by_idle_;
  StringMap<std::set<std::string>> by_user_;
  StringMap<std::set<std::string>> by_adapter_;
};

}  // namespace ruvd::storage
