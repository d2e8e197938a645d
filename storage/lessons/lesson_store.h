// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/lessons/lesson.h"
#include "storage/lessons/lesson_ids.h"
#include "storage/limits.h"

namespace ruvd::storage {

struct LessonStoreOptions {
  // Tests use smaller limits.
  size_t max_lessons = limits::kMaxLessons;
  uint64_t max_bytes = limits::kMaxLessonBytes;
  size_t max_sources = limits::kMaxLessonSources;
  size_t batch = limits::kLessonBatch;
};

// Texts that a person gave the node to learn from, cut into lessons. Every text is sealed, by the
// key of its user if it has one. Nothing is displaced: above a limit the store refuses. Additions
// and withdrawals survive a power cut. Thread-safe; one writer runs at a time, and Add lets others
// write between its batches.
class LessonStore {
 public:
  // Opens the store and removes the remains of lessons whose users were erased. `database` must
  // outlive the store. Returns an error of Database.
  static absl::StatusOr<std::unique_ptr<LessonStore>> Open(Database& database,
                                                           const LessonStoreOptions& options = {});

  // Stores those of the lessons that the user does not have yet. The members id, lessons
  // and complete of `header` do not count. Calls run one after the other. A source is written in
  // several batches if it is large; if that is interrupted, the source stays with complete = false
  // and the lessons written, and the same call again completes it. Without lessons nothing is
  // stored. Returns INVALID_ARGUMENT for a text that is not UTF-8, an empty text, a name that is
  // empty or absolute, a tier above 4 or a negative time; LIMIT_EXCEEDED (storage/limits.h), before
  // anything is written; ABORTED with reason CHANGED if the source was withdrawn or its user erased
  // during the call; or an error of Database::Write.
  absl::StatusOr<AddedLessons> Add(const LessonSource& header, std::span<const NewLesson> lessons);

  // Returns kNotFound with reason NOT_FOUND for an unknown id, a withdrawn lesson or one whose user
  // was erased.
  absl::StatusOr<StoredLesson> Get(const LessonId& id) const;
  // Returns whether there is such a lesson, without opening it; false after its user was erased.
  absl::StatusOr<bool> Contains(const LessonId& id) const;
  // Returns kNotFound with reason NOT_FOUND as Get does.
  absl::StatusOr<LessonSource> GetSource(const LessonSourceId& id) const;

  // Shows the entries of all lessons, newest first, until the callback returns false. Skips rows
  // that do not open or decode. It reads no text, so use it to choose among many lessons. The
  // callback may call this store.
  absl::Status ForEachEntry(const std::function<bool(const LessonEntry&)>& callback) const;

  // Returns lessons in order of their numbers, which grow with each lesson added. Skips rows that
  // do not open or decode. Returns INVALID_ARGUMENT for `most` 0.
  absl::StatusOr<LessonPage> List(const LessonQuery& query) const;
  // Returns up to `most` sources with ids above `after` (nullopt: from the first), in order of
  // their ids. Skips rows that do not open or decode.
  absl::StatusOr<std::vector<LessonSource>> ListSources(const std::optional<LessonSourceId>& after,
                                                        size_t most) const;

  // Remove lessons and, with its last lesson, the source, in one batch that survives a power cut.
  // A full disk does not hinder them. The sealed bytes leave the disk with the next
  // Database::Compact; the caller lets learning forget what it has taken. Return kNotFound with
  // reason NOT_FOUND if there is nothing to withdraw, or an error of Database::Write.
  absl::StatusOr<WithdrawnLessons> WithdrawSource(const LessonSourceId& id);
  // "" withdraws the lessons without a user.
  absl::StatusOr<WithdrawnLessons> WithdrawUser(std::string_view user_id);
  absl::StatusOr<WithdrawnLessons> WithdrawLesson(const LessonId& id);

  // The maker of something from lessons takes it back when they are withdrawn, and notes that here.
  // After a crash between the two, `handled` is below `made` at the next start, and the work is
  // done then. So it is at the first start of a new store.
  LessonWithdrawals withdrawals() const;
  // `count` is what withdrawals().made was before that work began; a later withdrawal is not
  // handled by it. Survives a power cut. Returns an error of Database::Write.
  absl::Status NoteWithdrawalsHandled(uint64_t count);

  // Runs `erase`, which destroys a user's keys, while no lesson or source is being rewritten or
  // added. An Add of the user that is under way ends with ABORTED.
  absl::Status WithRewritesPaused(const std::function<absl::Status()>& erase);
  // Removes the rows of lessons whose users were erased and returns how many lessons there were.
  // Other calls wait for at most one piece of this work, except for Add, which waits for all of it.
  absl::StatusOr<size_t> PurgeErased();

  // Returns the number of lessons, and the sum of the bytes of their prompts and texts.
  size_t size() const;
  uint64_t bytes() const;

 private:
  struct AdditionItem;
  struct Addition;
  struct Stage;
  // Holds mutex_ for a scope. Add lets those who wait for it go first: a std::mutex would give it
  // to Add again after each batch.
  class ABSL_SCOPED_LOCKABLE Turn {
   public:
    explicit Turn(const LessonStore& store) ABSL_EXCLUSIVE_LOCK_FUNCTION(store.mutex_);
    ~Turn() ABSL_UNLOCK_FUNCTION();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const LessonStore& store_;
  };
  // Lessons to remove, by their numbers.
  using Entries = std::map<uint64_t, LessonEntry>;

  LessonStore(Database& database, const LessonStoreOptions& options)
      : database_(database), options_(options) {}

  absl::Status ReadCounts();

  // lesson_store_add.cc
  absl::StatusOr<const lessons::LessonIds*> Ids() ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_);
  absl::Status Prepare(const LessonSource& header, std::span<const NewLesson> given,
                       Addition* addition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(adding_);
  absl::Status ChooseItems(const lessons::LessonIds& ids, std::span<const NewLesson> given,
                           Addition* addition) const;
  absl::Status CheckRoom(const Addition& addition) const;
  absl::Status CheckStillThere(const LessonSourceId& source) const;
  void StageNew(const Addition& addition, const AdditionItem& item, const NewLesson& lesson,
                Stage* stage) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StageLowered(const LessonId& id, uint32_t tier, Stage* stage) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> WriteNext(std::span<const NewLesson> given, Addition* addition);
  absl::Status Commit(Stage* stage, Addition* addition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // lesson_store_remove.cc
  absl::StatusOr<std::set<LessonSourceId>> SourcesOf(std::string_view user_id, bool* damaged) const;
  absl::Status Collect(const LessonSourceId& source, Entries* entries, bool* damaged) const;
  absl::Status CollectByReading(const std::function<bool(const StoredLesson&)>& wanted,
                                Entries* entries) const;
  absl::StatusOr<WithdrawnLessons> Withdraw(const Entries& entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<WithdrawnLessons> Remove(const Entries& entries, Batch batch,
                                          Durability durability)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<size_t> RemoveErased(std::span<const LessonEntry> entries);

  Database& database_;
  const LessonStoreOptions options_;
  // Held by Add for its whole time, and before mutex_.
  Mutex adding_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::optional<lessons::LessonIds> ids_ ABSL_GUARDED_BY(adding_);
  // Held while rows are changed.
  mutable Mutex mutex_;
  mutable std::atomic<int> waiting_{0};  // Turns that do not have mutex_ yet
  std::map<LessonSourceId, uint32_t> sources_ ABSL_GUARDED_BY(mutex_);  // with their lessons
  size_t size_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  LessonWithdrawals withdrawals_ ABSL_GUARDED_BY(mutex_);
  // Erasures so far, and how many of them left no row. Rows that an erasure left would become those
  // of another lesson with the same id, so Add removes them first.
  uint64_t erasures_ ABSL_GUARDED_BY(mutex_) = 1;  // those of before this start are one
  uint64_t purged_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::storage
