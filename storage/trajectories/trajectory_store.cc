// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/trajectories/trajectory_store.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/reasons.h"
#include "storage/row_text.h"
#include "storage/trajectories/trajectory_rows.h"

namespace ruvd::storage {
namespace {

using trajectories::IdKey;
using trajectories::IdOfTimeKey;
using trajectories::kFeedback;
using trajectories::kNoFeedback;
using trajectories::kTimePrefix;
using trajectories::TimeKey;

// The rows of one piece, while generations wait to store their trajectories.
constexpr size_t kForgottenAtOnce = 256;

absl::Status TooLong(std::string_view what, size_t size, size_t limit) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
               "a trajectory has {} of {}, but the limit is {}; store a shorter one", what, size,
               limit);
}

absl::Status CheckRating(const std::optional<float>& rating) {
  if (rating && !(*rating >= 0.0F && *rating <= 1.0F)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "rating {} is not between 0 (bad) and 1 (good)", *rating);
  }
  return absl::OkStatus();
}

bool SameFeedback(const Trajectory& a, const Trajectory& b) {
  return a.rating == b.rating && a.edited_text == b.edited_text && a.accepted == b.accepted &&
         a.copied == b.copied && a.regenerated == b.regenerated;
}

absl::Status CheckMetadata(const std::map<std::string, std::string>& metadata) {
  if (metadata.size() > limits::kMaxFeedbackMetadata) {
    return TooLong("metadata", metadata.size(), limits::kMaxFeedbackMetadata);
  }
  for (const auto& [name, value] : metadata) {
    if (name.size() > limits::kMaxFeedbackMetadataKeyBytes) {
      return TooLong("a name of metadata", name.size(), limits::kMaxFeedbackMetadataKeyBytes);
    }
    if (value.size() > limits::kMaxFeedbackMetadataValueBytes) {
      return TooLong("a value of metadata", value.size(), limits::kMaxFeedbackMetadataValueBytes);
    }
    RETURN_IF_ERROR(CheckTexts("metadata of a feedback", {name, value}));
  }
  return absl::OkStatus();
}

absl::Status CheckRoute(const std::optional<TrajectoryRoute>& route) {
  if (!route) {
    return absl::OkStatus();
  }
  if (!trajectories::IsSound(*route)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a trajectory's route has no name, a number out of range or more than {} "
                 "features and {} others",
                 limits::kMaxRouteFeatures, limits::kMaxRouteOthers);
  }
  for (const std::string& other : route->others) {
    RETURN_IF_ERROR(CheckTexts("a trajectory's route", {other}));
  }
  return CheckTexts("a trajectory's route", {route->name});
}

absl::Status Check(const Trajectory& trajectory) {
  if (trajectory.response_id.empty() ||
      trajectory.response_id.size() > limits::kMaxResponseIdBytes || trajectory.created_ms < 0) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "a trajectory has a response id of {} bytes and was created at {} ms; use an id of 1 to {} "
        "bytes and a time since 1970",
        trajectory.response_id.size(), trajectory.created_ms, limits::kMaxResponseIdBytes);
  }
  const size_t text = trajectory.session_id.size() + trajectory.prompt.size() +
                      trajectory.completion.size() + trajectory.edited_text.value_or("").size();
  if (text > limits::kMaxTrajectoryTextBytes) {
    return TooLong("texts", text, limits::kMaxTrajectoryTextBytes);
  }
  const size_t steps = std::max(trajectory.step_t.size(), trajectory.step_entropy.size());
  if (steps > limits::kMaxTrajectorySteps) {
    return TooLong("steps", steps, limits::kMaxTrajectorySteps);
  }
  if (trajectory.prompt_tokens.size() > limits::kMaxTrajectoryPromptTokens) {
    return TooLong("prompt tokens", trajectory.prompt_tokens.size(),
                   limits::kMaxTrajectoryPromptTokens);
  }
  if (trajectory.embedding.size() > limits::kMaxDimension) {
    return TooLong("an embedding", trajectory.embedding.size(), limits::kMaxDimension);
  }
  RETURN_IF_ERROR(CheckRoute(trajectory.route));
  RETURN_IF_ERROR(CheckRating(trajectory.rating));
  RETURN_IF_ERROR(CheckMetadata(trajectory.metadata));
  constexpr char kTrajectory[] = "a trajectory";
  for (const std::string& adapter : trajectory.adapters) {
    RETURN_IF_ERROR(CheckTexts(kTrajectory, {adapter}));
  }
  if (trajectory.user_id.size() > limits::kMaxUserIdBytes) {
    return TooLong("a user id", trajectory.user_id.size(), limits::kMaxUserIdBytes);
  }
  return CheckTexts(
      kTrajectory, {trajectory.response_id, trajectory.session_id, trajectory.user_id,
                    trajectory.prompt, trajectory.completion, trajectory.edited_text.value_or("")});
}

}  // namespace

bool HasFeedback(const Trajectory& trajectory) {
  return trajectory.rating || trajectory.edited_text || trajectory.accepted || trajectory.copied ||
         trajectory.regenerated;
}

absl::StatusOr<std::unique_ptr<TrajectoryStore>> TrajectoryStore::Open(
    Database& database, const TrajectoryStoreOptions& options) {
  std::unique_ptr<TrajectoryStore> store(new TrajectoryStore(database, options));
  {
    const MutexLock lock(store->mutex_);
    RETURN_IF_ERROR(store->ReadTimeKeys());
  }
  store->PurgeErased().IgnoreError();  // on a full disk the next start does it
  return store;
}

absl::Status TrajectoryStore::ReadTimeKeys() {
  int64_t newest_ms = 0;
  const auto add = [&](std::string_view key, bool feedback) {
    (feedback ? with_feedback_ : without_feedback_).emplace(key);
    newest_ms = trajectories::TimeOfTimeKey(key);
    return true;
  };
  // Where a row does not open or has another value, its trajectory says what it would.
  const auto ask = [&](std::string_view key) {
    const absl::StatusOr<Trajectory> trajectory = Get(IdOfTimeKey(key));
    return add(key, trajectory.ok() && HasFeedback(*trajectory));
  };
  RETURN_IF_ERROR(database_.Scan(
      ColumnFamily::kTrajectory, kTimePrefix, EndOfPrefix(kTimePrefix),
      [&](const RowView& row) {
        const bool known = row.value == kFeedback || row.value == kNoFeedback;
        return known ? add(row.key, row.value == kFeedback) : ask(row.key);
      },
      ask));
  order_ = MonotonicTimestamps(newest_ms);
  return absl::OkStatus();
}

// Only the keys matter, so a row whose value does not open is shown like the others.
absl::Status TrajectoryStore::ScanTimes(int64_t created_ms,
                                        const Database::BrokenCallback& callback) const {
  return database_.Scan(
      ColumnFamily::kTrajectory, TimeKey(std::max<int64_t>(created_ms, 0), ""),
      EndOfPrefix(kTimePrefix), [&](const RowView& row) { return callback(row.key); }, callback);
}

KeyScope TrajectoryStore::ScopeOf(const Trajectory& trajectory) {
  return trajectory.user_id.empty() ? KeyScope() : KeyScope::User(trajectory.user_id);
}

absl::Status TrajectoryStore::Write(const Trajectory& trajectory, const std::string& former_key,
                                    Durability durability) {
  const bool feedback = HasFeedback(trajectory);
  TimeKeys& kind = feedback ? with_feedback_ : without_feedback_;
  const std::string key = TimeKey(trajectory.created_ms, trajectory.response_id);
  Batch batch;
  if (!former_key.empty() && former_key != key) {
    batch.Delete(ColumnFamily::kTrajectory, former_key);
  }
  const size_t capacity = feedback ? options_.feedback_capacity : options_.capacity;
  std::vector<std::string> dropped;
  size_t held = kind.size() + (kind.contains(former_key) ? 0 : 1);
  for (auto oldest = kind.begin(); held > capacity && oldest != kind.end(); ++oldest) {
    if (*oldest != key && *oldest != former_key) {
      batch.Delete(ColumnFamily::kTrajectory, *oldest);
      batch.Delete(ColumnFamily::kTrajectory, IdKey(IdOfTimeKey(*oldest)));
      dropped.push_back(*oldest);
      --held;
    }
  }
  batch.Put(ColumnFamily::kTrajectory, IdKey(trajectory.response_id),
            trajectories::EncodeTrajectory(trajectory), 0, ScopeOf(trajectory));
  batch.Put(ColumnFamily::kTrajectory, key, feedback ? kFeedback : kNoFeedback);
  RETURN_IF_ERROR(database_.Write(std::move(batch), durability));
  for (const std::string& gone : dropped) {
    kind.erase(gone);
  }
  without_feedback_.erase(former_key);
  with_feedback_.erase(former_key);
  kind.insert(key);
  return absl::OkStatus();
}

absl::Status TrajectoryStore::Put(Trajectory trajectory) {
  RETURN_IF_ERROR(Check(trajectory));
  const MutexLock lock(mutex_);
  MonotonicTimestamps order = order_;
  trajectory.created_ms = order.Next(trajectory.created_ms);
  const absl::StatusOr<Trajectory> old = Get(trajectory.response_id);
  if (!old.ok() && !absl::IsNotFound(old.status())) {
    return old.status();
  }
  RETURN_IF_ERROR(Write(trajectory, old.ok() ? TimeKey(old->created_ms, old->response_id) : "",
                        Durability::kProcessCrash));
  order_ = order;
  return absl::OkStatus();
}

absl::StatusOr<Trajectory> TrajectoryStore::Get(std::string_view response_id) const {
  if (response_id.size() <= limits::kMaxResponseIdBytes) {
    const absl::StatusOr<std::string> row =
        database_.Get(ColumnFamily::kTrajectory, IdKey(response_id));
    if (row.ok()) {
      return trajectories::DecodeTrajectory(*row);
    }
    if (!absl::IsNotFound(row.status())) {
      return row.status();
    }
  }
  return Unknown(response_id);
}

absl::Status TrajectoryStore::Unknown(std::string_view response_id) const {
  return Error(absl::StatusCode::kNotFound, reasons::kUnknownResponse,
               "response {} is not known; send feedback for one of the last {} responses, or for "
               "one that has feedback already",
               response_id.substr(0, limits::kMaxResponseIdBytes), options_.capacity);
}

absl::Status TrajectoryStore::SetFeedback(std::string_view response_id,
                                          const TrajectoryFeedback& feedback) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Trajectory trajectory, Get(response_id));
  if (!feedback.owner.empty() && feedback.owner != trajectory.owner) {
    return Unknown(response_id);
  }
  if (feedback.rating || feedback.accepted) {  // both express an opinion: the newest one counts
    trajectory.rating = feedback.rating;
    trajectory.accepted = feedback.accepted;
  }
  if (feedback.edited_text) {
    trajectory.edited_text = feedback.edited_text;
  }
  trajectory.copied |= feedback.copied;
  trajectory.regenerated |= feedback.regenerated;
  for (const auto& [name, value] : feedback.metadata) {
    trajectory.metadata[name] = value;
  }
  trajectory.learned_by.clear();
  trajectory.learned_in.reset();
  RETURN_IF_ERROR(Check(trajectory));
  return Write(trajectory, TimeKey(trajectory.created_ms, trajectory.response_id),
               Durability::kPowerLoss);
}

absl::Status TrajectoryStore::SetLearned(const Trajectory& taken, std::string_view by,
                                         const std::optional<PatternId>& pattern) {
  const MutexLock lock(mutex_);
  absl::StatusOr<Trajectory> trajectory = Get(taken.response_id);
  if (!trajectory.ok() || !SameFeedback(*trajectory, taken) ||
      (trajectory->learned_by == by && (!pattern || trajectory->learned_in == pattern))) {
    return absl::OkStatus();
  }
  trajectory->learned_by = by;
  if (pattern) {
    trajectory->learned_in = pattern;
  }
  Batch batch;
  batch.Put(ColumnFamily::kTrajectory, IdKey(trajectory->response_id),
            trajectories::EncodeTrajectory(*trajectory), 0, ScopeOf(*trajectory));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status TrajectoryStore::ForEachSince(
    int64_t created_ms, const std::function<bool(const Trajectory&)>& callback) const {
  return ScanTimes(created_ms, [&](std::string_view key) -> absl::StatusOr<bool> {
    const absl::StatusOr<Trajectory> trajectory = Get(IdOfTimeKey(key));
    if (absl::IsNotFound(trajectory.status()) || absl::IsDataLoss(trajectory.status())) {
      return true;  // trimmed during the scan, or a damaged row that must not hide others
    }
    RETURN_IF_ERROR(trajectory.status());
    return callback(*trajectory);
  });
}

absl::Status TrajectoryStore::WithRewritesPaused(const std::function<absl::Status()>& erase) {
  const MutexLock lock(mutex_);
  return erase();
}

absl::StatusOr<size_t> TrajectoryStore::PurgeErased() {
  std::vector<std::string> stale;
  RETURN_IF_ERROR(ScanTimes(0, [&](std::string_view key) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const bool there,
                     database_.Contains(ColumnFamily::kTrajectory, IdKey(IdOfTimeKey(key))));
    if (!there) {
      stale.emplace_back(key);
    }
    return true;
  }));
  size_t forgotten = 0;
  for (std::span<const std::string> rest(stale); !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), kForgottenAtOnce));
    ASSIGN_OR_RETURN(const size_t gone, ForgetBatch(piece));
    forgotten += gone;
    rest = rest.subspan(piece.size());
  }
  return forgotten;
}

// Checks each row again, now that no writer runs: a row by time is removed when its trajectory is
// gone.
absl::StatusOr<size_t> TrajectoryStore::ForgetBatch(std::span<const std::string> time_keys) {
  const MutexLock lock(mutex_);
  Batch batch;
  std::vector<std::string> gone;
  for (const std::string& key : time_keys) {
    const std::string id_key = IdKey(IdOfTimeKey(key));
    ASSIGN_OR_RETURN(const bool listed, database_.Contains(ColumnFamily::kTrajectory, key));
    ASSIGN_OR_RETURN(const bool there, database_.Contains(ColumnFamily::kTrajectory, id_key));
    if (listed && !there) {
      batch.Delete(ColumnFamily::kTrajectory, key);
      batch.Delete(ColumnFamily::kTrajectory, id_key);
      gone.push_back(key);
    }
  }
  if (!gone.empty()) {
    RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
    for (const std::string& key : gone) {
      without_feedback_.erase(key);
      with_feedback_.erase(key);
    }
  }
  return gone.size();
}

size_t TrajectoryStore::size() const {
  const MutexLock lock(mutex_);
  return without_feedback_.size() + with_feedback_.size();
}

}  // namespace ruvd::storage
