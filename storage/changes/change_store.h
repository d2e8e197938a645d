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
#include "storage/changes/learning_change.h"
#include "storage/db/database.h"
#include "storage/db/key_scope.h"
#include "storage/limits.h"

namespace ruvd::storage {

struct ChangeStoreOptions {
  // The part of limits::kMaxChanges for what sessions were taught. Such changes are undone within
  // the hour that a session remembers, or never, and must not displace lasting changes.
  static constexpr size_t kOfSessions = 64;
  // The part for remembered completions, of which there are as many as ratings.
  static constexpr size_t kOfLessons = 128;
  // Each of the three sorts has its own capacity; above it, the oldest changes of that sort are
  // removed.
  size_t capacity = limits::kMaxChanges - kOfSessions - kOfLessons;
  size_t session_capacity = kOfSessions;
  size_t lesson_capacity = kOfLessons;
  uint64_t image_bytes = limits::kMaxChangeImageBytes;
  // The scope that seals images: the collection of their patterns, so its erasure includes them.
  KeyScope image_scope;
};

// Lists what learning changed, newest last, with the data that undoes it, and whether an operator
// paused learning. Writes survive a power cut, except changes of sessions, whose memory does not
// survive a restart anyway. Thread-safe; writers run one at a time.
class ChangeStore {
 public:
  // Removes what sessions were taught in an earlier process, because they have forgotten it.
  // `database` must outlive the store. Rows that do not decode are skipped.
  static absl::StatusOr<std::unique_ptr<ChangeStore>> Open(Database& database,
                                                           const ChangeStoreOptions& options = {});

  // Lists a change before it is made, so that every change can be undone; returns it with its
  // number and mark. Above the capacity the oldest change of its sort is removed. Responses above
  // the limit are left out. With `still`, the change is listed only if `still` returns true, called
  // while no erasure of users (WithRewritesPaused) is running; otherwise the result is ABORTED.
  // Returns INVALID_ARGUMENT for a text that is not UTF-8, LIMIT_EXCEEDED for too many images, or
  // an error of Database::Write.
  absl::StatusOr<LearningChange> Add(LearningChange change, std::span<const PatternImage> images,
                                     const std::function<bool()>& still = nullptr);
  // Removes a change that was not made after all.
  absl::Status Remove(uint64_t number);

  // Returns the change that an undo token names. Returns INVALID_ARGUMENT for a text that is not a
  // token; NOT_FOUND when there is no such change (any more), or its user was erased.
  absl::StatusOr<LearningChange> Find(std::string_view token) const;
  // Returns the newest changes, newest first.
  absl::StatusOr<std::vector<LearningChange>> List(size_t count) const;
  // Returns the patterns before a change. Returns FAILED_PRECONDITION when they are not kept any
  // more.
  absl::StatusOr<std::vector<PatternImage>> ImagesOf(const LearningChange& change) const;

  // Marks a change as undone: it stays listed, but its images are removed. Returns NOT_FOUND for an
  // unknown number.
  absl::Status SetUndone(uint64_t number, int64_t now_ms);

  // Removes the images of a pattern that a user deleted, so that no undo brings it back.
  absl::Status ForgetPattern(const PatternId& id);

  // Runs `erase`, which destroys a user's keys, while no change is being read to be rewritten.
  absl::Status WithRewritesPaused(const std::function<absl::Status()>& erase);

  absl::StatusOr<bool> IsPaused() const;
  absl::Status SetPaused(bool paused);

  size_t size() const;

 private:
  struct Entry {
    uint32_t images = 0;
    uint64_t image_bytes = 0;
    std::vector<PatternId> patterns;
    ChangeKind kind = ChangeKind::kPatternStored;
  };

  ChangeStore(Database& database, const ChangeStoreOptions& options)
      : database_(database), options_(options) {}
  absl::StatusOr<LearningChange> Read(uint64_t number) const;
  static Entry EntryOf(const LearningChange& change);
  static void Put(const LearningChange& change, Batch* batch);
  static void DeleteImages(uint64_t number, const Entry& entry, Batch* batch);
  // Drops the images of changes, or with `all` the changes themselves.
  absl::Status Drop(std::span<const uint64_t> numbers, bool all)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes room for one more change of its sort.
  absl::Status MakeRoom(const LearningChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const ChangeStoreOptions options_;
  mutable Mutex mutex_;
  std::map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t image_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::storage
