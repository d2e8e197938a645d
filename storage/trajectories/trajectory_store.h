// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/steady_time.h"
#include "storage/db/database.h"
#include "storage/limits.h"
#include "storage/patterns/pattern.h"

namespace ruvd::limits {
// What a router knew of a request, and the ways that were open: some 16 numbers and four names.
inline constexpr size_t kMaxRouteFeatures = 64;
inline constexpr size_t kMaxRouteOthers = 32;
inline constexpr size_t kMaxRouteNameBytes = 64;
}  // namespace ruvd::limits

namespace ruvd::storage {

// Which way of serving a request a router chose, and what that cost: with the request's feedback an
// outcome that the router learns from. Holds none of the user's words.
struct TrajectoryRoute {
  std::string name;
  std::vector<std::string> others;  // ways that were open, too
  std::vector<float> features;      // of the request; finite
  float propensity = 1;             // probability with which this way was chosen, above 0
  float probability = 0;            // that it is good enough, as far as the router knew
  bool explored = false;            // chosen at random
  float seconds = 0;                // of computing it; not negative
  uint32_t tokens = 0;              // that were to be generated
  bool operator==(const TrajectoryRoute&) const = default;
};

// One completed request, kept until newer ones displace it. It holds the user's words: it is sealed
// on disk and never leaves the node.
struct Trajectory {
  std::string response_id;
  std::string session_id;
  std::string user_id;  // whose key seals it; empty: that of all trajectories without a user
  std::string prompt;
  // Of a conversation, whose control tokens `prompt` only spells; empty: those of `prompt`.
  std::vector<uint32_t> prompt_tokens;
  std::string completion;
  std::vector<float> embedding;     // of the prompt
  std::string embedded_by;          // id of the model package that made the embedding
  uint32_t mode = 0;                // as ruvd.inference.v1 numbers the sampling modes
  std::vector<float> step_t;        // masked share of the window, by step
  std::vector<float> step_entropy;  // mean entropy in nats of the committed positions, by step
  std::vector<std::string> adapters;
  std::vector<PatternId> patterns = {};                 // whose adapters served it
  std::optional<TrajectoryRoute> route = std::nullopt;  // none: nothing was chosen for the request
  int64_t created_ms = 0;                               // not negative
  std::optional<float> rating;
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  bool copied = false;                          // the user copied the completion
  bool regenerated = false;                     // ... asked for another one instead
  std::map<std::string, std::string> metadata;  // what the client notes with its feedback
  // Id of the model package whose round of learning took its feedback; empty: none did yet.
  std::string learned_by;
  // The pattern whose lesson it is with that feedback, which may be gone by now.
  std::optional<PatternId> learned_in;
};

// What a user thinks of a completion. Members that are set replace those of the trajectory; a
// rating also replaces what was accepted or refused before, and the other way round.
struct TrajectoryFeedback {
  std::optional<float> rating;  // 0 to 1
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  // Implicit: what the user did, not what the user said. False: not heard of.
  bool copied = false;
  bool regenerated = false;
  std::map<std::string, std::string> metadata;  // by name; those of other names stay
};

struct TrajectoryStoreOptions {
  // The oldest trajectories go when there are more.
  size_t capacity = limits::kMaxTrajectories;
};

// Completed requests by response id. Writes survive kill -9; feedback survives a power cut too.
// Thread-safe; one writer at a time.
class TrajectoryStore {
 public:
  // Removes what is left of trajectories whose user was erased meanwhile. `database` outlives the
  // store.
  static absl::StatusOr<std::unique_ptr<TrajectoryStore>> Open(
      Database& database, const TrajectoryStoreOptions& options = {});

  // Stores a trajectory or replaces the one with its response id, and drops the oldest one where
  // that exceeds the capacity. The order is that of Put: where created_ms is not later than that of
  // the newest one, because the wall clock went back, it becomes so. INVALID_ARGUMENT for an empty
  // or too long response id, a negative time or a text that is not UTF-8; LIMIT_EXCEEDED
  // (storage/limits.h), the errors of Database::Write.
  absl::Status Put(Trajectory trajectory);

  // kNotFound with reason UNKNOWN_RESPONSE.
  absl::StatusOr<Trajectory> Get(std::string_view response_id) const;

  // Nobody has learned from it then, whatever was learned before. UNKNOWN_RESPONSE;
  // INVALID_ARGUMENT for a rating outside 0 to 1; LIMIT_EXCEEDED, also for too much metadata.
  absl::Status SetFeedback(std::string_view response_id, const TrajectoryFeedback& feedback);

  // Shows the trajectories created at or after `created_ms`, oldest first, until the callback
  // returns false; passes over rows that do not open or decode. The callback may call this store.
  absl::Status ForEachSince(int64_t created_ms,
                            const std::function<bool(const Trajectory&)>& callback) const;

  // A round of the model package `by` took this one, as it was read, and `pattern` learned it
  // (none: it keeps the one it had). Does nothing where it is gone or its feedback is another by
  // now. Survives kill -9. The errors of Database::Write.
  absl::Status SetLearned(const Trajectory& taken, std::string_view by,
                          const std::optional<PatternId>& pattern);

  // Runs `erase`, which destroys a user's keys, while no trajectory is read to be written again:
  // feedback that comes meanwhile finds the trajectory erased, and does not seal it with a new key.
  absl::Status WhileStill(const std::function<absl::Status()>& erase);

  // Removes what is left of trajectories whose user was erased; says of how many. Other calls wait
  // for a piece of it at most.
  absl::StatusOr<size_t> ForgetErased();

  size_t size() const;
  size_t capacity() const { return options_.capacity; }

 private:
  TrajectoryStore(Database& database, const TrajectoryStoreOptions& options)
      : database_(database), options_(options) {}

  static KeyScope ScopeOf(const Trajectory& trajectory);
  absl::Status TrimTo(size_t count, Batch* batch, size_t* trimmed) const;
  // Shows the keys of the rows by time, from that of `created_ms` on.
  absl::Status ScanTimes(int64_t created_ms, const Database::BrokenCallback& callback) const;
  absl::StatusOr<size_t> ForgetSome(std::span<const std::string> time_keys);

  Database& database_;
  const TrajectoryStoreOptions options_;
  mutable Mutex mutex_;
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  OrderedTime order_ ABSL_GUARDED_BY(mutex_) = OrderedTime(0);
};

}  // namespace ruvd::storage
