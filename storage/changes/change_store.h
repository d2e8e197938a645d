// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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
  // What sessions were taught, of limits::kMaxChanges: it is undone within the hour that a session
  // remembers, or never, and must not crowd out what lasts.
  static constexpr size_t kOfSessions = 64;
  // The oldest go when there are more of a sort.
  size_t capacity = limits::kMaxChanges - kOfSessions;
  size_t session_capacity = kOfSessions;
  uint64_t image_bytes = limits::kMaxChangeImageBytes;
  // What seals images: the collection of their patterns, whose erasure takes them along.
  KeyScope image_scope;
};

// What learning changed, newest last, with what it takes to change it back; and whether an operator
// paused learning. Writes survive a power cut but for those of sessions, which do not survive a
// restart themselves. Thread-safe; one writer at a time.
class ChangeStore {
 public:
  // Drops what sessions were taught in an earlier life: they forgot it with that. `database`
  // outlives the store. Rows that do not decode are passed over.
  static absl::StatusOr<std::unique_ptr<ChangeStore>> Open(Database& database,
                                                           const ChangeStoreOptions& options = {});

  // Lists a change that is about to be made, so that whatever is made can be undone; returns it
  // with its number and mark. Above its capacity the oldest change of its sort leaves the list.
  // Responses above the limit are left out. INVALID_ARGUMENT for a text that is not UTF-8,
  // LIMIT_EXCEEDED for too many images; the errors of Database::Write.
  // With `still` only where that says yes, asked while no erasure of users (WhileStill) goes on:
  // ABORTED otherwise.
  absl::StatusOr<LearningChange> Add(LearningChange change, std::span<const PatternImage> images,
                                     const std::function<bool()>& still = nullptr);
  // It was not made after all.
  absl::Status Remove(uint64_t number);

  // By the token of an undo. INVALID_ARGUMENT for a text that is none; NOT_FOUND for one that names
  // no change (any more), also where its user was erased.
  absl::StatusOr<LearningChange> Find(std::string_view token) const;
  // The newest that stands of those with a number below `before`. NOT_FOUND where none does.
  absl::StatusOr<LearningChange> Last(uint64_t before = std::numeric_limits<uint64_t>::max()) const;
  // The newest ones, newest first.
  absl::StatusOr<std::vector<LearningChange>> List(size_t count) const;
  // Patterns before a change. FAILED_PRECONDITION where they gave way to newer ones.
  absl::StatusOr<std::vector<PatternImage>> ImagesOf(const LearningChange& change) const;

  // It was undone: it stays listed, its images go. NOT_FOUND.
  absl::Status SetUndone(uint64_t number, int64_t now_ms);

  // A pattern that somebody deleted comes back by no undo: its images go.
  absl::Status ForgetPattern(const PatternId& id);

  // Runs `erase`, which destroys a user's keys, while no change is read to be written again.
  absl::Status WhileStill(const std::function<absl::Status()>& erase);

  absl::StatusOr<bool> Paused() const;
  absl::Status SetPaused(bool paused);

  size_t size() const;

 private:
  struct Entry {
    uint32_t images = 0;
    uint64_t image_bytes = 0;
    std::vector<PatternId> patterns;
    bool of_session = false;
  };

  ChangeStore(Database& database, const ChangeStoreOptions& options)
      : database_(database), options_(options) {}
  absl::StatusOr<LearningChange> Read(uint64_t number) const;
  static Entry EntryOf(const LearningChange& change);
  static void Put(const LearningChange& change, Batch* batch);
  static void DeleteImages(uint64_t number, const Entry& entry, Batch* batch);
  // Drops the images of changes, or the changes themselves with `all`.
  absl::Status Drop(std::span<const uint64_t> numbers, bool all)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For one more change of its sort.
  absl::Status MakeRoom(const LearningChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const ChangeStoreOptions options_;
  mutable Mutex mutex_;
  std::map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t image_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::storage
