// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <string>

#include "base/reasons.h"
#include "storage/db/row_key.h"
#include "storage/lessons/lesson_ids.h"
#include "storage/lessons/lesson_rows.h"
#include "storage/lessons/lesson_scan.h"
#include "storage/reasons.h"
#include "storage/verify/row_checks.h"
#include "storage/verify/row_problems.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kLesson;

// Checks a lesson, its id, its entry, its place in its source and that the source is there.
absl::Status CheckLesson(const Database& database, const RowView& row,
                         const absl::StatusOr<lessons::LessonIds>& ids, RowProblems* complaints) {
  const std::optional<LessonId> id = lessons::LessonIdOf(row.key);
  if (!id) {
    complaints->Add(row.key, "this is not a key of a lesson");
    return absl::OkStatus();
  }
  const absl::StatusOr<StoredLesson> lesson = lessons::DecodeLesson(row.value, *id);
  if (!complaints->Ok(row.key, lesson.status())) {
    return absl::OkStatus();
  }
  if (ids.ok() && ids->IdOf(lesson->user_id, lesson->prompt, lesson->text) != *id) {
    complaints->Add(row.key, "it holds another lesson");
  }
  for (const std::string& companion :
       {lessons::EntryKey(lesson->number), lessons::MemberKey(lesson->source, lesson->number),
        lessons::SourceKey(lesson->source)}) {
    RETURN_IF_ERROR(complaints->Expect(database, kFamily, row.key, companion));
  }
  return absl::OkStatus();
}

// Checks an entry and its lesson. A lesson that does not decode is reported itself.
absl::Status CheckEntry(const Database& database, const RowView& row, RowProblems* complaints) {
  const std::optional<uint64_t> number = lessons::NumberOfEntry(row.key);
  if (!number) {
    complaints->Add(row.key, "this is not a key of a lesson's entry");
    return absl::OkStatus();
  }
  const absl::StatusOr<LessonEntry> entry = lessons::DecodeEntry(row.value, *number);
  if (!complaints->Ok(row.key, entry.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      complaints->Expect(database, kFamily, row.key, lessons::MemberKey(entry->source, *number)));
  const std::string key = lessons::LessonKey(entry->id);
  const absl::StatusOr<std::string> stored = database.Get(kFamily, key);
  if (ReasonOf(stored.status()) == reasons::kKeyDestroyed) {
    return absl::OkStatus();  // its user was erased; the next start removes both
  }
  if (absl::IsNotFound(stored.status())) {
    return complaints->Expect(database, kFamily, row.key, key);
  }
  const auto lesson = stored.ok() ? lessons::DecodeLesson(*stored, entry->id)
                                  : absl::StatusOr<StoredLesson>(stored.status());
  if (lesson.ok() && (lesson->number != *number || lesson->source != entry->source ||
                      lesson->prompt.size() + lesson->text.size() != entry->bytes)) {
    complaints->Add(row.key, "its lesson has another number, source or size");
  }
  return absl::OkStatus();
}

// Checks a source and that it has a lesson.
absl::Status CheckSource(const Database& database, const RowView& row, RowProblems* complaints) {
  const std::optional<LessonSourceId> id = lessons::SourceIdOf(row.key);
  if (!id) {
    complaints->Add(row.key, "this is not a key of a source of lessons");
    return absl::OkStatus();
  }
  complaints->Ok(row.key, lessons::DecodeSource(row.value, *id).status());
  bool any = false;
  RETURN_IF_ERROR(lessons::ScanMembers(database, *id, 0, [&](uint64_t /*number*/) {
    any = true;
    return false;
  }));
  if (!any) {
    complaints->Add(row.key, "it has no lessons");
  }
  return absl::OkStatus();
}

// Checks the row that finds a lesson by its source. An entry that does not decode is reported
// itself.
absl::Status CheckMember(const Database& database, std::string_view key, RowProblems* complaints) {
  const std::optional<lessons::Member> member = lessons::MemberOf(key);
  if (!member) {
    complaints->Add(key, "this is not a key of a source's lesson");
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(complaints->Expect(database, kFamily, key, lessons::EntryKey(member->number)));
  const absl::StatusOr<LessonEntry> entry = lessons::ReadEntry(database, member->number);
  if (entry.ok() && entry->source != member->source) {
    complaints->Add(key, "its lesson is of another source");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLessonRows(Database& database, StoreReport* report) {
  RowProblems complaints("lesson", report);
  const absl::StatusOr<lessons::LessonIds> ids = lessons::LessonIds::Read(database);
  bool any = false;
  const auto check = [&](const RowView& row) -> absl::StatusOr<bool> {
    any = true;
    if (row.key.starts_with(lessons::kLessonPrefix)) {
      RETURN_IF_ERROR(CheckLesson(database, row, ids, &complaints));
    } else if (row.key.starts_with(lessons::kEntryPrefix)) {
      RETURN_IF_ERROR(CheckEntry(database, row, &complaints));
    } else if (row.key.starts_with(lessons::kSourcePrefix)) {
      RETURN_IF_ERROR(CheckSource(database, row, &complaints));
    } else if (row.key.starts_with(lessons::kMemberPrefix)) {
      RETURN_IF_ERROR(CheckMember(database, row.key, &complaints));
    } else if (row.key != lessons::kHandledKey) {
      complaints.Add(row.key, "this is not a key of the lessons");
    }
    return true;
  };
  RETURN_IF_ERROR(database.Scan(kFamily, "", "", check, RowProblems::SkipRow));
  if (any) {
    complaints.Ok(lessons::kIdKeyRow, ids.status());
  }
  return absl::OkStatus();
}

}  // namespace ruvd::storage
