// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/tokens/observed_store.h"

#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"
#include "storage/tokens/observed_rows.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kToken;

}  // namespace

absl::StatusOr<bool> ObservedStore::Put(const ObservedLesson& lesson,
                                        const std::function<absl::StatusOr<bool>()>& still) {
  if (lesson.name.empty() || lesson.name.size() > limits::kMaxObservedNameBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the name of an observed lesson has {} bytes, but 1 to {} are allowed",
                 lesson.name.size(), limits::kMaxObservedNameBytes);
  }
  RETURN_IF_ERROR(CheckTexts("an observed lesson", {lesson.name, lesson.user_id}));
  Batch batch;
  batch.Put(kFamily, tokens::ObservedKey(lesson.name), tokens::EncodeObserved(lesson), 0,
            lesson.user_id.empty() ? KeyScope() : KeyScope::User(lesson.user_id));
  const MutexLock lock(adding_);
  ASSIGN_OR_RETURN(const bool keep, still());
  if (keep) {
    RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  }
  return keep;
}

absl::Status ObservedStore::WithRewritesPaused(const std::function<absl::Status()>& erase) {
  const MutexLock lock(adding_);
  return erase();
}

absl::Status ObservedStore::Remove(const std::set<std::string>& names) {
  Batch batch;
  batch.MarkFreesSpace();
  for (const std::string& name : names) {
    batch.Delete(kFamily, tokens::ObservedKey(name));
  }
  return batch.empty() ? absl::OkStatus()
                       : database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status ObservedStore::Clear() {
  Batch batch;
  batch.MarkFreesSpace();
  batch.DeleteRange(kFamily, tokens::kObservedPrefix, EndOfPrefix(tokens::kObservedPrefix));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status ObservedStore::ForEach(const std::function<bool(ObservedLesson lesson)>& callback,
                                    size_t* damaged) {
  std::vector<std::string> broken;
  const auto note = [&broken](std::string_view key) -> absl::StatusOr<bool> {
    broken.emplace_back(key);
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(
      kFamily, "", "",
      [&](const RowView& row) -> absl::StatusOr<bool> {
        absl::StatusOr<ObservedLesson> lesson = tokens::DecodeObserved(row.value);
        if (!lesson.ok() || row.key != tokens::ObservedKey(lesson->name)) {
          return note(row.key);
        }
        return callback(*std::move(lesson));
      },
      note));
  *damaged = broken.size();
  Batch batch;
  batch.MarkFreesSpace();
  for (const std::string& key : broken) {
    batch.Delete(kFamily, key);
  }
  return batch.empty() ? absl::OkStatus()
                       : database_.Write(std::move(batch), Durability::kProcessCrash);
}

}  // namespace ruvd::storage
