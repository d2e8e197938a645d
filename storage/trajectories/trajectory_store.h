// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
// Limits of the facts that a router had about a request, and of the routes it could choose. Usual
// are 16 numbers and four names.
inline constexpr size_t kMaxRouteFeatures = 64;
inline constexpr size_t kMaxRouteOthers = 32;
inline constexpr size_t kMaxRouteNameBytes = 64;
}  // namespace ruvd::limits

namespace ruvd::storage {

// The route (the way of serving a request) that a router chose, and its cost. With the request's
// feedback it is an outcome from which the router learns. It holds none of the user's words.
struct TrajectoryRoute {
  std::string name;
  std::vector<std::string> others;  // the other routes that could have been chosen
  std::vector<float> features;      // of the request; finite
  float propensity = 1;             // probability with which this route was chosen, above 0
  float probability = 0;            // estimated probability that this route is good enough
  bool explored = false;            // chosen at random
  float seconds = 0;                // computing time of the request; not negative
  uint32_t tokens = 0;              // tokens that were to be generated
  bool operator==(const TrajectoryRoute&) const = default;
};

// One completed request, kept until newer ones displace it: one with feedback is displaced by
// others with feedback only. It contains the user's words, so it is sealed on disk and never leaves
// the node.
struct Trajectory {
  std::string response_id;
  std::string session_id;
  // the user whose key seals it; empty: the key of all trajectories without a user
  std::string user_id;
  // name of the client's key whose response it is; empty: that of an operator
  std::string owner = {};
  std::string prompt;
  // The tokens of a conversation, whose control tokens `prompt` only spells out. Empty: tokenise
  // `prompt`.
  std::vector<uint32_t> prompt_tokens;
  std::string completion;
  std::vector<float> embedding;     // of the prompt
  std::string embedded_by;          // id of the model package that made the embedding
  uint32_t mode = 0;                // the sampling mode, as numbered in ruvd.inference.v1
  std::vector<float> step_t;        // masked share of the window, by step
  std::vector<float> step_entropy;  // mean entropy in nats of the committed positions, by step
  std::vector<std::string> adapters;
  std::vector<PatternId> patterns = {};                 // patterns whose adapters served it
  std::optional<TrajectoryRoute> route = std::nullopt;  // absent: no route was chosen
  int64_t created_ms = 0;                               // not negative
  std::optional<float> rating;
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  bool copied = false;                          // the user copied the completion
  bool regenerated = false;                     // the user asked for another completion instead
  std::map<std::string, std::string> metadata;  // sent by the client with its feedback
  // Id of the model package whose learning round used its feedback; empty: no round did so yet.
  std::string learned_by;
  // The pattern that learned that feedback as a lesson; it may be gone by now.
  std::optional<PatternId> learned_in;
};

// A user's opinion of a completion. Members that are set replace those of the trajectory. A rating
// also replaces an earlier `accepted`, and the other way round.
struct TrajectoryFeedback {
  std::string owner = {};       // whose response it must be; empty: anyone's
  std::optional<float> rating;  // 0 to 1
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  // Implicit feedback: what the user did rather than said. False means unknown.
  bool copied = false;
  bool regenerated = false;
  std::map<std::string, std::string> metadata;  // by name; entries of other names stay
};

// Returns whether the user said or did something about the completion.
bool HasFeedback(const Trajectory& trajectory);

struct TrajectoryStoreOptions {
  // Above this number of trajectories without feedback the oldest of them are removed.
  size_t capacity = limits::kMaxTrajectories;
  // Above this number of trajectories with feedback the oldest of these are removed.
  size_t feedback_capacity = limits::kMaxTrajectoriesWithFeedback;
};

// Completed requests by response id. Writes survive kill -9; feedback survives a power cut too.
// Thread-safe; one writer runs at a time.
class TrajectoryStore {
 public:
  // Opens the store and removes the remains of trajectories whose users were erased. `database`
  // must outlive the store.
  static absl::StatusOr<std::unique_ptr<TrajectoryStore>> Open(
      Database& database, const TrajectoryStoreOptions& options = {});

  // Stores a trajectory or replaces the one with its response id, and drops the oldest one of its
  // kind, with or without feedback, above the capacity of the kind; what they say has no influence
  // on which one it is (sharing/shareable_lessons.h says why). The order is that of the calls:
  // if created_ms is not later than that of the newest trajectory, because the wall clock went
  // back, it is raised. Returns INVALID_ARGUMENT for an empty or too long response id, a negative
  // time or a text that is not UTF-8; LIMIT_EXCEEDED (storage/limits.h); or an error of
  // Database::Write.
  absl::Status Put(Trajectory trajectory);

  // Returns kNotFound with reason UNKNOWN_RESPONSE for an unknown id.
  absl::StatusOr<Trajectory> Get(std::string_view response_id) const;

  // Adds feedback to a trajectory, which then counts as not learned, whatever was learned before.
  // For another owner than its own it is unknown. Another one with feedback may make room for it,
  // never this one. Returns UNKNOWN_RESPONSE; INVALID_ARGUMENT for a rating outside 0 to 1;
  // LIMIT_EXCEEDED, for example for too much metadata.
  absl::Status SetFeedback(std::string_view response_id, const TrajectoryFeedback& feedback);

  // Shows the trajectories created at or after `created_ms`, oldest first, until the callback
  // returns false. Skips rows that do not open or decode. The callback may call this store.
  absl::Status ForEachSince(int64_t created_ms,
                            const std::function<bool(const Trajectory&)>& callback) const;

  // Records that a round of the model package `by` used this trajectory as it was read, and that
  // `pattern` learned it (nullopt keeps the former pattern). Does nothing if the trajectory is gone
  // or has other feedback by now. The record survives kill -9. Returns the errors of
  // Database::Write.
  absl::Status SetLearned(const Trajectory& taken, std::string_view by,
                          const std::optional<PatternId>& pattern);

  // Runs `erase`, which destroys a user's keys, while no trajectory is being read to be rewritten.
  // Feedback that comes meanwhile finds the trajectory erased and does not seal it with a new key.
  absl::Status WithRewritesPaused(const std::function<absl::Status()>& erase);

  // Removes the remains of trajectories whose users were erased and returns how many there were.
  // Other calls wait for at most one piece of this work.
  absl::StatusOr<size_t> PurgeErased();

  size_t size() const;
  // How many trajectories with feedback there may be
  size_t feedback_capacity() const { return options_.feedback_capacity; }

 private:
  absl::Status Unknown(std::string_view response_id) const;  // UNKNOWN_RESPONSE
  TrajectoryStore(Database& database, const TrajectoryStoreOptions& options)
      : database_(database), options_(options) {}

  // The keys of the rows by time, oldest first
  using TimeKeys = std::set<std::string, std::less<>>;

  static KeyScope ScopeOf(const Trajectory& trajectory);
  // Writes a trajectory, with its row by time in place of `former_key` ("": it is new), and drops
  // the oldest ones of its kind if they are too many.
  absl::Status Write(const Trajectory& trajectory, const std::string& former_key,
                     Durability durability) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Shows the keys of the rows by time, from `created_ms` on.
  absl::Status ScanTimes(int64_t created_ms, const Database::BrokenCallback& callback) const;
  absl::Status ReadTimeKeys() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<size_t> ForgetBatch(std::span<const std::string> time_keys);

  Database& database_;
  const TrajectoryStoreOptions options_;
  mutable Mutex mutex_;
  TimeKeys without_feedback_ ABSL_GUARDED_BY(mutex_);
  TimeKeys with_feedback_ ABSL_GUARDED_BY(mutex_);
  MonotonicTimestamps order_ ABSL_GUARDED_BY(mutex_) = MonotonicTimestamps(0);
};

}  // namespace ruvd::storage
