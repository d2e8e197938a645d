// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_scan.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/lessons/lesson_rows.h"

namespace ruvd::storage::lessons {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kLesson;

Database::RowCallback ShowEntry(const EntryCallback& callback) {
  return [&callback](const RowView& row) -> absl::StatusOr<bool> {
    const auto entry = DecodeEntry(row.value, NumberOfEntry(row.key).value_or(0));
    return entry.ok() ? callback(*entry) : true;
  };
}

absl::StatusOr<bool> SkipRow(std::string_view /*key*/) {
  return true;
}

}  // namespace

bool MaySkip(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

absl::Status ScanEntries(const Database& database, uint64_t from, const EntryCallback& callback) {
  return database.Scan(kFamily, EntryKey(from), EndOfPrefix(kEntryPrefix), ShowEntry(callback),
                       SkipRow);
}

absl::Status ScanEntriesBackward(const Database& database, const EntryCallback& callback) {
  return database.ScanBackward(kFamily, kEntryPrefix, EndOfPrefix(kEntryPrefix),
                               ShowEntry(callback), SkipRow);
}

absl::Status ScanMembers(const Database& database, const LessonSourceId& source, uint64_t from,
                         const std::function<absl::StatusOr<bool>(uint64_t)>& callback) {
  const auto show = [&](std::string_view key) -> absl::StatusOr<bool> {
    const std::optional<Member> member = MemberOf(key);
    return member ? callback(member->number) : true;
  };
  return database.Scan(
      kFamily, MemberKey(source, from), EndOfPrefix(MembersOf(source)),
      [&](const RowView& row) { return show(row.key); }, show);
}

absl::StatusOr<LessonEntry> ReadEntry(const Database& database, uint64_t number) {
  ASSIGN_OR_RETURN(const std::string row, database.Get(kFamily, EntryKey(number)));
  return DecodeEntry(row, number);
}

}  // namespace ruvd::storage::lessons
