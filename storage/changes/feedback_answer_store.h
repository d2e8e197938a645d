// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/limits.h"

namespace ruvd::storage {

// Remembers the answers to feedback by the client's name for it, so that feedback that is sent
// again is learned only once, even after a restart. The oldest answers are removed first. Answers
// survive kill -9. Thread-safe.
class FeedbackAnswerStore {
 public:
  // `database` must outlive the store.
  static absl::StatusOr<std::unique_ptr<FeedbackAnswerStore>> Open(
      Database& database, size_t capacity = limits::kMaxFeedbackAnswers);

  // Returns the remembered bytes; nullopt for an empty or unknown key.
  absl::StatusOr<std::optional<std::string>> Find(std::string_view key) const;

  // Remembers the first answer of a key; later ones and those of an empty key are ignored. Returns
  // LIMIT_EXCEEDED for an answer that is too long, or an error of Database::Write.
  absl::Status Remember(std::string_view key, std::string_view answer);

 private:
  explicit FeedbackAnswerStore(Database& database, size_t capacity)
      : database_(database), capacity_(capacity) {}

  Database& database_;
  const size_t capacity_;
  Mutex mutex_;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // numbers in order of time
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace ruvd::storage
