// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Withdrawals, and what an erasure leaves to be removed.

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_scan.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kLesson;
// The lessons of one piece, while other writers wait.
constexpr size_t kRemovedAtOnce = 256;

absl::Status NothingToWithdraw(std::string_view what) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "the store has no lessons {}; they were withdrawn or never added", what);
}

}  // namespace

// Returns the sources of a user. `*damaged` becomes true if there are sources whose users are not
// known.
absl::StatusOr<std::set<LessonSourceId>> LessonStore::SourcesOf(std::string_view user_id,
                                                                bool* damaged) const {
  std::set<LessonSourceId> found;
  const auto broken = [&](std::string_view /*key*/) -> absl::StatusOr<bool> {
    *damaged = true;
    return true;
  };
  const auto read = [&](const RowView& row) -> absl::StatusOr<bool> {
    const std::optional<LessonSourceId> id = lessons::SourceIdOf(row.key);
    const auto source = lessons::DecodeSource(row.value, id.value_or(LessonSourceId{}));
    if (!source.ok()) {
      return broken(row.key);
    }
    if (source->user_id == user_id) {
      found.insert(source->id);
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(kFamily, lessons::kSourcePrefix,
                                 EndOfPrefix(lessons::kSourcePrefix), read, broken));
  return found;
}

// Adds the entries of a source's lessons. `*damaged` becomes true if an entry does not open: it is
// added without the id of its lesson.
absl::Status LessonStore::Collect(const LessonSourceId& source, Entries* entries,
                                  bool* damaged) const {
  return lessons::ScanMembers(database_, source, 0, [&](uint64_t number) -> absl::StatusOr<bool> {
    const absl::StatusOr<LessonEntry> entry = lessons::ReadEntry(database_, number);
    if (lessons::MaySkip(entry.status())) {
      *damaged = true;
      entries->emplace(number, LessonEntry{.number = number, .source = source});
      return true;
    }
    RETURN_IF_ERROR(entry.status());
    entries->emplace(number, *entry);
    return true;
  });
}

// Adds the entries of the wanted lessons. It reads all lessons, so it is only for a damaged store.
absl::Status LessonStore::CollectByReading(const std::function<bool(const StoredLesson&)>& wanted,
                                           Entries* entries) const {
  return database_.Scan(
      kFamily, lessons::kLessonPrefix, EndOfPrefix(lessons::kLessonPrefix),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        const std::optional<LessonId> id = lessons::LessonIdOf(row.key);
        const auto lesson = lessons::DecodeLesson(row.value, id.value_or(LessonId{}));
        if (id && lesson.ok() && wanted(*lesson)) {
          const size_t bytes = lesson->prompt.size() + lesson->text.size();
          entries->insert_or_assign(lesson->number,
                                    LessonEntry{.id = *id,
                                                .number = lesson->number,
                                                .source = lesson->source,
                                                .bytes = static_cast<uint32_t>(bytes)});
        }
        return true;
      },
      [](std::string_view /*key*/) { return true; });
}

// The batch only deletes, because a full disk must not hinder it: the row that it takes away says
// that all withdrawals are handled.
absl::StatusOr<WithdrawnLessons> LessonStore::Withdraw(const Entries& entries) {
  Batch batch;
  batch.MarkFreesSpace();
  batch.Delete(kFamily, lessons::kHandledKey);
  ASSIGN_OR_RETURN(const WithdrawnLessons withdrawn,
                   Remove(entries, std::move(batch), Durability::kPowerLoss));
  ++withdrawals_.made;
  return withdrawn;
}

// Adds the removal to `batch` and writes it.
absl::StatusOr<WithdrawnLessons> LessonStore::Remove(const Entries& entries, Batch batch,
                                                     Durability durability) {
  WithdrawnLessons removed{.lessons = entries.size()};
  uint64_t bytes = 0;
  std::map<LessonSourceId, uint32_t> left;
  for (const auto& [number, entry] : entries) {
    batch.Delete(kFamily, lessons::LessonKey(entry.id));
    batch.Delete(kFamily, lessons::EntryKey(number));
    batch.Delete(kFamily, lessons::MemberKey(entry.source, number));
    bytes += entry.bytes;
    const auto counted = sources_.find(entry.source);
    uint32_t& count =
        left.try_emplace(entry.source, counted == sources_.end() ? 0 : counted->second)
            .first->second;
    count -= std::min<uint32_t>(count, 1);
  }
  for (const auto& [source, count] : left) {
    if (count == 0) {
      batch.Delete(kFamily, lessons::SourceKey(source));
      ++removed.sources;
    }
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), durability));
  for (const auto& [source, count] : left) {
    if (count == 0) {
      sources_.erase(source);
    } else {
      sources_[source] = count;
    }
  }
  size_ -= std::min(size_, entries.size());
  bytes_ -= std::min(bytes_, bytes);
  return removed;
}

absl::StatusOr<WithdrawnLessons> LessonStore::WithdrawSource(const LessonSourceId& id) {
  const Turn turn(*this);
  Entries entries;
  bool damaged = false;
  RETURN_IF_ERROR(Collect(id, &entries, &damaged));
  if (damaged) {
    RETURN_IF_ERROR(CollectByReading(
        [&](const StoredLesson& lesson) { return lesson.source == id; }, &entries));
  }
  if (entries.empty()) {
    return NothingToWithdraw(fmt::format("of source {}", ToHex(id)));
  }
  return Withdraw(entries);
}

absl::StatusOr<WithdrawnLessons> LessonStore::WithdrawUser(std::string_view user_id) {
  const Turn turn(*this);
  Entries entries;
  bool damaged = false;
  ASSIGN_OR_RETURN(const std::set<LessonSourceId> sources, SourcesOf(user_id, &damaged));
  for (const LessonSourceId& source : sources) {
    RETURN_IF_ERROR(Collect(source, &entries, &damaged));
  }
  if (damaged) {
    RETURN_IF_ERROR(CollectByReading(
        [&](const StoredLesson& lesson) { return lesson.user_id == user_id; }, &entries));
  }
  if (entries.empty()) {
    return NothingToWithdraw(user_id.empty() ? "without a user" : "of this user");
  }
  return Withdraw(entries);
}

absl::StatusOr<WithdrawnLessons> LessonStore::WithdrawLesson(const LessonId& id) {
  const Turn turn(*this);
  ASSIGN_OR_RETURN(const StoredLesson lesson, Get(id));
  const size_t bytes = lesson.prompt.size() + lesson.text.size();
  return Withdraw({{lesson.number,
                    {.id = id,
                     .number = lesson.number,
                     .source = lesson.source,
                     .bytes = static_cast<uint32_t>(bytes)}}});
}

LessonWithdrawals LessonStore::withdrawals() const {
  const Turn turn(*this);
  return withdrawals_;
}

absl::Status LessonStore::NoteWithdrawalsHandled(uint64_t count) {
  const Turn turn(*this);
  if (count < withdrawals_.made || withdrawals_.handled == withdrawals_.made) {
    return absl::OkStatus();
  }
  Batch batch;
  batch.Put(kFamily, lessons::kHandledKey, "");
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kPowerLoss));
  withdrawals_.handled = withdrawals_.made;
  return absl::OkStatus();
}

absl::StatusOr<size_t> LessonStore::PurgeErased() {
  uint64_t erasures = 0;
  {
    const Turn turn(*this);
    erasures = erasures_;
  }
  std::vector<LessonEntry> gone;
  RETURN_IF_ERROR(
      lessons::ScanEntries(database_, 0, [&](const LessonEntry& entry) -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const bool there, Contains(entry.id));
        if (!there) {
          gone.push_back(entry);
        }
        return true;
      }));
  size_t removed = 0;
  for (std::span<const LessonEntry> rest(gone); !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), kRemovedAtOnce));
    ASSIGN_OR_RETURN(const size_t count, RemoveErased(piece));
    removed += count;
    rest = rest.subspan(piece.size());
  }
  const Turn turn(*this);
  purged_ = std::max(purged_, erasures);
  return removed;
}

// Checks each entry again, now that no writer runs.
absl::StatusOr<size_t> LessonStore::RemoveErased(std::span<const LessonEntry> entries) {
  const Turn turn(*this);
  Entries gone;
  for (const LessonEntry& entry : entries) {
    ASSIGN_OR_RETURN(const bool listed,
                     database_.Contains(kFamily, lessons::EntryKey(entry.number)));
    ASSIGN_OR_RETURN(const bool there, Contains(entry.id));
    if (listed && !there) {
      gone.emplace(entry.number, entry);
    }
  }
  if (gone.empty()) {
    return 0;
  }
  Batch batch;
  batch.MarkFreesSpace();
  RETURN_IF_ERROR(Remove(gone, std::move(batch), Durability::kProcessCrash).status());
  return gone.size();
}

}  // namespace ruvd::storage
