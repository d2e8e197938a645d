// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"
#include "storage/lessons/lesson.h"

// Walks over rows of the family `lesson` for the files of LessonStore.
namespace ruvd::storage::lessons {

// Returns whether a walk goes on after this error of a row: the row was removed meanwhile, or it is
// damaged and must not hide others.
bool MaySkip(const absl::Status& status);

// Shows the entries with numbers from `from` on in order, until the callback returns false or an
// error. Skips entries that do not open or decode.
using EntryCallback = std::function<absl::StatusOr<bool>(const LessonEntry&)>;
absl::Status ScanEntries(const Database& database, uint64_t from, const EntryCallback& callback);
absl::Status ScanEntriesBackward(const Database& database, const EntryCallback& callback);

// Shows the numbers of a source's lessons from `from` on in order, also of damaged ones.
absl::Status ScanMembers(const Database& database, const LessonSourceId& source, uint64_t from,
                         const std::function<absl::StatusOr<bool>(uint64_t)>& callback);

// Returns the entry of a number, kNotFound, STORE_CORRUPT or an error of Database::Get.
absl::StatusOr<LessonEntry> ReadEntry(const Database& database, uint64_t number);

}  // namespace ruvd::storage::lessons
