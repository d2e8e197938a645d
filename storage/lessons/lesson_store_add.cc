// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Adding a source, in batches between which others write.

#include <algorithm>
#include <limits>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/consent.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_store.h"
#include "storage/reasons.h"
#include "storage/row_text.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kLesson;

size_t BytesOf(const NewLesson& lesson) {
  return lesson.prompt.size() + lesson.text.size();
}

// The tier 0 sets no limit, so it is looser than every other one.
bool IsStricter(uint32_t tier, uint32_t than) {
  return tier != 0 && (than == 0 || tier < than);
}

absl::Status CheckHeader(const LessonSource& header) {
  constexpr auto kMaxTier = static_cast<uint32_t>(privacy::ConsentTier::kPublic);
  if (header.name.size() > limits::kMaxSourceNameBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a source's name has {} bytes, but the limit is {}; give it a shorter one",
                 header.name.size(), limits::kMaxSourceNameBytes);
  }
  if (header.name.empty() || header.name.starts_with('/')) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a source of lessons has no name or an absolute path as its name; use the name of "
                 "its file or a relative path");
  }
  if (header.user_id.size() > limits::kMaxUserIdBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a user id has {} bytes, but the limit is {}; use a shorter one",
                 header.user_id.size(), limits::kMaxUserIdBytes);
  }
  if (header.tier > kMaxTier || header.created_ms < 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a source of lessons has the tier {} and was created at {} ms; use a tier of 0 to "
                 "{} and a time since 1970",
                 header.tier, header.created_ms, kMaxTier);
  }
  return CheckTexts("a source of lessons", {header.name, header.user_id});
}

absl::Status CheckLesson(const NewLesson& lesson, size_t index) {
  if (BytesOf(lesson) > limits::kMaxLessonTextBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "lesson {} of the source has {} bytes of text, but the limit is {}; cut it into "
                 "shorter ones",
                 index, BytesOf(lesson), limits::kMaxLessonTextBytes);
  }
  if (lesson.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "lesson {} of the source has no text; leave it out", index);
  }
  return CheckTexts("a lesson", {lesson.prompt, lesson.text});
}

absl::Status TooMany(std::string_view what, uint64_t would_be, uint64_t most) {
  return Error(
      absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
      "with this source the store would have {} {}, but the limit is {}; nothing of it was "
      "stored; withdraw lessons that are no longer needed (`ruvd learn withdraw`)",
      would_be, what, most);
}

}  // namespace

// A lesson that a call of Add writes.
struct LessonStore::AdditionItem {
  size_t index = 0;  // among the given lessons
  LessonId id{};
  bool stored = false;  // only its tier is lowered, if it is looser
};

// A call of Add: what there is to write, and how far it is.
struct LessonStore::Addition {
  LessonSource source;
  bool stored = false;  // the source has a row
  uint32_t tier = 0;    // that the caller gave; the source may have a stricter one
  std::vector<AdditionItem> items;
  size_t next = 0;  // the first item that is not written
  uint64_t new_lessons = 0;
  uint64_t new_bytes = 0;
  uint64_t erasures = 0;  // when the items were chosen
  bool done = false;
  AddedLessons result;
};

// One batch of it.
struct LessonStore::Stage {
  Batch batch;
  size_t added = 0;
  size_t lowered = 0;
  uint64_t added_bytes = 0;
  size_t batch_bytes = 0;  // those of lowered lessons, too
};

absl::StatusOr<const lessons::LessonIds*> LessonStore::Ids() {
  if (!ids_) {
    ASSIGN_OR_RETURN(ids_, lessons::LessonIds::Open(database_));
  }
  return &*ids_;
}

absl::StatusOr<AddedLessons> LessonStore::Add(const LessonSource& header,
                                              std::span<const NewLesson> given) {
  RETURN_IF_ERROR(CheckHeader(header));
  for (size_t i = 0; i < given.size(); ++i) {
    RETURN_IF_ERROR(CheckLesson(given[i], i));
  }
  const MutexLock adding(adding_);
  Addition addition;
  // After an erasure the choice is made again: lessons that were there may be gone.
  for (bool chosen = false; !addition.done;) {
    if (!chosen) {
      RETURN_IF_ERROR(Prepare(header, given, &addition));
    }
    for (int others = waiting_.load(); others != 0; others = waiting_.load()) {
      waiting_.wait(others);
    }
    ASSIGN_OR_RETURN(chosen, WriteNext(given, &addition));
  }
  addition.result.duplicates = given.size() - addition.result.added;
  if (addition.stored) {
    addition.result.source = addition.source.id;
  }
  return addition.result;
}

// Chooses what is to be written.
absl::Status LessonStore::Prepare(const LessonSource& header, std::span<const NewLesson> given,
                                  Addition* addition) {
  bool purge = false;
  {
    const MutexLock lock(mutex_);
    addition->erasures = erasures_;
    purge = purged_ != erasures_;
  }
  if (purge) {
    RETURN_IF_ERROR(PurgeErased().status());
  }
  ASSIGN_OR_RETURN(const lessons::LessonIds* ids, Ids());
  addition->source = header;
  addition->tier = header.tier;
  addition->source.id = ids->SourceIdOf(header.user_id, header.name, header.content_hash);
  const absl::StatusOr<LessonSource> stored = GetSource(addition->source.id);
  if (!stored.ok() && !absl::IsNotFound(stored.status())) {
    return stored.status();
  }
  if (stored.ok()) {
    addition->stored = true;
    addition->source.created_ms = stored->created_ms;
    addition->source.tier = IsStricter(header.tier, stored->tier) ? header.tier : stored->tier;
  }
  RETURN_IF_ERROR(ChooseItems(*ids, given, addition));
  addition->source.complete = stored.ok() && stored->complete && addition->new_lessons == 0;
  return CheckRoom(*addition);
}

absl::Status LessonStore::ChooseItems(const lessons::LessonIds& ids,
                                      std::span<const NewLesson> given, Addition* addition) const {
  addition->items.clear();
  addition->next = 0;
  addition->new_lessons = 0;
  addition->new_bytes = 0;
  std::set<LessonId> seen;
  for (size_t i = 0; i < given.size(); ++i) {
    const LessonId id = ids.IdOf(addition->source.user_id, given[i].prompt, given[i].text);
    if (!seen.insert(id).second) {
      continue;
    }
    ASSIGN_OR_RETURN(const bool stored, Contains(id));
    if (!stored) {
      ++addition->new_lessons;
      addition->new_bytes += BytesOf(given[i]);
    }
    if (!stored || addition->tier != 0) {
      addition->items.push_back({.index = i, .id = id, .stored = stored});
    }
  }
  return absl::OkStatus();
}

absl::Status LessonStore::CheckRoom(const Addition& addition) const {
  {
    const MutexLock lock(mutex_);
    if (size_ + addition.new_lessons > options_.max_lessons) {
      return TooMany("lessons", size_ + addition.new_lessons, options_.max_lessons);
    }
    if (bytes_ + addition.new_bytes > options_.max_bytes) {
      return TooMany("bytes of lessons", bytes_ + addition.new_bytes, options_.max_bytes);
    }
    if (addition.new_lessons > 0 && !addition.stored && sources_.size() >= options_.max_sources) {
      return TooMany("sources of lessons", sources_.size() + 1, options_.max_sources);
    }
  }
  // The first batches would take the last space in vain.
  return database_.CheckSpace(addition.new_bytes);
}

absl::Status LessonStore::CheckStillThere(const LessonSourceId& source) const {
  ASSIGN_OR_RETURN(const bool there, database_.Contains(kFamily, lessons::SourceKey(source)));
  if (!there) {
    return Error(absl::StatusCode::kAborted, reasons::kChanged,
                 "the source was withdrawn or its user erased while it was added; add it again if "
                 "it is still wanted");
  }
  return absl::OkStatus();
}

void LessonStore::StageNew(const Addition& addition, const AdditionItem& item,
                           const NewLesson& lesson, Stage* stage) const {
  const LessonSource& source = addition.source;
  const StoredLesson row{.id = item.id,
                         .number = last_number_ + ++stage->added,
                         .source = source.id,
                         .index = static_cast<uint32_t>(item.index),
                         .user_id = source.user_id,
                         .prompt = lesson.prompt,
                         .text = lesson.text,
                         .created_ms = source.created_ms,
                         .tier = source.tier};
  const auto bytes = static_cast<uint32_t>(BytesOf(lesson));
  stage->batch.Put(kFamily, lessons::LessonKey(row.id), lessons::EncodeLesson(row), 0,
                   lessons::ScopeOf(row.user_id));
  stage->batch.Put(kFamily, lessons::EntryKey(row.number),
                   lessons::EncodeEntry({.id = row.id, .source = row.source, .bytes = bytes}));
  stage->batch.Put(kFamily, lessons::MemberKey(row.source, row.number), "");
  stage->added_bytes += bytes;
  stage->batch_bytes += bytes;
}

absl::Status LessonStore::StageLowered(const LessonId& id, uint32_t tier, Stage* stage) const {
  absl::StatusOr<StoredLesson> lesson = Get(id);
  if (absl::IsNotFound(lesson.status())) {
    return absl::OkStatus();  // withdrawn meanwhile
  }
  RETURN_IF_ERROR(lesson.status());
  if (IsStricter(tier, lesson->tier)) {
    lesson->tier = tier;
    stage->batch.Put(kFamily, lessons::LessonKey(id), lessons::EncodeLesson(*lesson), 0,
                     lessons::ScopeOf(lesson->user_id));
    stage->batch_bytes += lesson->prompt.size() + lesson->text.size();
    ++stage->lowered;
  }
  return absl::OkStatus();
}

// Writes one batch. Returns false if users were erased since the items were chosen.
absl::StatusOr<bool> LessonStore::WriteNext(std::span<const NewLesson> given, Addition* addition) {
  const MutexLock lock(mutex_);
  if (addition->stored) {
    RETURN_IF_ERROR(CheckStillThere(addition->source.id));
  }
  if (erasures_ != addition->erasures) {
    return false;
  }
  Stage stage;
  size_t next = addition->next;
  while (next < addition->items.size() && next - addition->next < options_.batch &&
         stage.batch_bytes < limits::kLessonBatchBytes) {
    const AdditionItem& item = addition->items[next++];
    if (item.stored) {
      RETURN_IF_ERROR(StageLowered(item.id, addition->tier, &stage));
    } else {
      StageNew(*addition, item, given[item.index], &stage);
    }
  }
  addition->next = next;
  addition->done = next == addition->items.size();
  addition->source.complete = addition->source.complete || addition->done;
  RETURN_IF_ERROR(Commit(&stage, addition));
  return true;
}

absl::Status LessonStore::Commit(Stage* stage, Addition* addition) {
  const LessonSource& source = addition->source;
  addition->stored = addition->stored || stage->added > 0;
  if (addition->stored) {
    stage->batch.Put(kFamily, lessons::SourceKey(source.id), lessons::EncodeSource(source), 0,
                     lessons::ScopeOf(source.user_id));
  }
  if (stage->batch.empty()) {
    return absl::OkStatus();
  }
  const Durability durability = addition->done ? Durability::kPowerLoss : Durability::kProcessCrash;
  RETURN_IF_ERROR(database_.Write(std::move(stage->batch), durability));
  if (stage->added > 0) {
    sources_[source.id] += static_cast<uint32_t>(stage->added);
  }
  size_ += stage->added;
  bytes_ += stage->added_bytes;
  last_number_ += stage->added;
  addition->result.added += stage->added;
  addition->result.lowered += stage->lowered;
  return absl::OkStatus();
}

}  // namespace ruvd::storage
