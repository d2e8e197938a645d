// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/changes/feedback_answer_store.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/changes/change_rows.h"
#include "storage/db/row_key.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kChange;

}  // namespace

absl::StatusOr<std::unique_ptr<FeedbackAnswerStore>> FeedbackAnswerStore::Open(Database& database,
                                                                               size_t capacity) {
  std::unique_ptr<FeedbackAnswerStore> store(new FeedbackAnswerStore(database, capacity));
  const MutexLock lock(store->mutex_);
  uint64_t first = 0;
  uint64_t last = 0;
  const auto see = [&](std::string_view key) -> absl::StatusOr<bool> {
    last = changes::NumberOfKey(key).value_or(last);
    first = first == 0 ? last : first;
    return true;
  };
  RETURN_IF_ERROR(database.Scan(
      kFamily, changes::kAnswerOrderPrefix, EndOfPrefix(changes::kAnswerOrderPrefix),
      [&](const RowView& row) { return see(row.key); }, see));
  store->first_ = std::max<uint64_t>(1, first);
  store->next_ = last + 1;
  return store;
}

absl::StatusOr<std::optional<std::string>> FeedbackAnswerStore::Find(std::string_view key) const {
  if (key.empty()) {
    return std::nullopt;
  }
  absl::StatusOr<std::string> row = database_.Get(kFamily, changes::AnswerKey(Sha256(key)));
  if (absl::IsNotFound(row.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(row.status());
  return *std::move(row);
}

absl::Status FeedbackAnswerStore::Remember(std::string_view key, std::string_view answer) {
  if (key.empty()) {
    return absl::OkStatus();
  }
  if (answer.size() > limits::kMaxFeedbackAnswerBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "the answer has {} bytes, but the limit is {}; it is not remembered",
                 answer.size(), limits::kMaxFeedbackAnswerBytes);
  }
  const Digest digest = Sha256(key);
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const bool known, database_.Contains(kFamily, changes::AnswerKey(digest)));
  if (known) {
    return absl::OkStatus();
  }
  Batch batch;
  uint64_t first = first_;
  for (; next_ - first >= capacity_; ++first) {
    const std::string order = changes::AnswerOrderKey(first);
    const absl::StatusOr<std::string> oldest = database_.Get(kFamily, order);
    Digest old{};
    if (oldest.ok() && oldest->size() == old.size()) {
      std::ranges::copy(*oldest, old.begin());
      batch.Delete(kFamily, changes::AnswerKey(old));
    }
    batch.Delete(kFamily, order);
  }
  batch.Put(kFamily, changes::AnswerKey(digest), answer);
  batch.Put(kFamily, changes::AnswerOrderKey(next_), AsText(digest));
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  first_ = first;
  ++next_;
  return absl::OkStatus();
}

}  // namespace ruvd::storage
