// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "storage/db/database.h"
#include "storage/limits.h"

namespace ruvd::storage {

// Names a lesson: a keyed hash of its user, prompt and text. Texts that differ only in line ends,
// trailing blanks and numbers of blank lines have the same id.
using LessonId = std::array<uint8_t, 16>;
// Names a source: a keyed hash of its user, name and content. Both ids differ between stores, so
// they tell nothing to those who know a text but not the store.
using LessonSourceId = std::array<uint8_t, 16>;

// A piece of a text, before it is stored.
struct NewLesson {
  std::string prompt;  // empty: the text is learned without a prompt
  std::string text;    // not only blanks
};

// The file or text from which lessons were cut.
struct LessonSource {
  LessonSourceId id{};  // given by the store
  std::string name;     // base name or relative path, not absolute; 1 to kMaxSourceNameBytes bytes
  Digest content_hash{};  // SHA-256 of the content
  uint64_t bytes = 0;     // size of the content
  uint32_t lessons = 0;   // lessons of this source that are stored; counted by the store
  // the user whose key seals the source and its lessons; empty: the key of all lessons without a
  // user
  std::string user_id;
  // Most that the adder allows to leave the node, as privacy::ConsentTier numbers it; 0: the
  // consents alone decide.
  uint32_t tier = 0;
  int64_t created_ms = 0;  // not negative
  // False if adding it was interrupted; adding it again completes it. Kept by the store.
  bool complete = false;
  bool operator==(const LessonSource&) const = default;
};

struct StoredLesson {
  LessonId id{};
  uint64_t number = 0;  // its place in the order of adding, from 1
  LessonSourceId source{};
  uint32_t index = 0;  // place among the lessons given for the source, from 0
  std::string user_id;
  std::string prompt;
  std::string text;
  int64_t created_ms = 0;
  uint32_t tier = 0;  // see LessonSource; never looser than its source's at the time of adding
  bool operator==(const StoredLesson&) const = default;
};

// What the store tells about a lesson without reading its text.
struct LessonEntry {
  LessonId id{};
  uint64_t number = 0;
  LessonSourceId source{};
  uint32_t bytes = 0;  // of prompt and text
  bool operator==(const LessonEntry&) const = default;
};

struct AddedLessons {
  // nullopt: the source is not stored, because it has no lesson that another source has not
  std::optional<LessonSourceId> source;
  size_t added = 0;
  // Lessons that this user already had, from this source or another one, or twice in the call. They
  // stay with the source that brought them first.
  size_t duplicates = 0;
  // Duplicates whose tier was lowered to that of this call; no call ever raises a tier.
  size_t lowered = 0;
};

struct WithdrawnLessons {
  size_t lessons = 0;
  size_t sources = 0;  // sources of which no lesson is left
};

struct LessonQuery {
  std::optional<LessonSourceId> source = std::nullopt;  // only lessons of this source
  std::optional<std::string> user_id = std::nullopt;    // only of this user; "": without a user
  uint64_t from = 0;                                    // the first number to show
  size_t most = limits::kMaxListPageSize;
  // At least one lesson is shown, however long it is.
  size_t most_bytes = limits::kMaxLessonPageBytes;
};

struct LessonPage {
  std::vector<StoredLesson> lessons;            // in order of their numbers
  std::optional<uint64_t> next = std::nullopt;  // `from` of the next page; nullopt: there is none
};

struct LessonStoreOptions {
  // Tests use smaller limits.
  size_t max_lessons = limits::kMaxLessons;
  uint64_t max_bytes = limits::kMaxLessonBytes;
  size_t max_sources = limits::kMaxLessonSources;
};

// Texts that a person gave the node to learn from, cut into lessons. Every text is sealed, by the
// key of its user if it has one. Nothing is displaced: above a limit the store refuses. Additions
// and withdrawals survive a power cut. Thread-safe; one writer runs at a time, and Add lets others
// write between its batches.
class LessonStore {
 public:
  // Opens the store and removes the remains of lessons whose users were erased. Makes the key of
  // the ids on the first call. `database` must outlive the store. Returns STORE_CORRUPT or an error
  // of Database.
  static absl::StatusOr<std::unique_ptr<LessonStore>> Open(Database& database,
                                                           const LessonStoreOptions& options = {});

  // Stores those of the lessons that the user does not have yet. Of `header` the members id,
  // lessons and complete do not count. Calls run one after the other. A source is written in
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

  // Shows all lessons, newest first, until the callback returns false. Skips rows that do not open
  // or decode. The callback may call this store.
  absl::Status ForEachNewest(const std::function<bool(const StoredLesson&)>& callback) const;
  // Shows the entries of all lessons, newest first, until the callback returns false. It reads no
  // text, so use it to choose among many lessons. The callback may call this store.
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
  LessonStore(Database& database, const LessonStoreOptions& options)
      : database_(database), options_(options) {}

  Database& database_;
  const LessonStoreOptions options_;
};

}  // namespace ruvd::storage
