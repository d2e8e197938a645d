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

// What feedback was answered, by what the client called it, so that feedback that is sent again is
// learned once, also after a restart. The oldest answers go first. Survives kill -9. Thread-safe.
class AnswerStore {
 public:
  // `database` outlives the store.
  static absl::StatusOr<std::unique_ptr<AnswerStore>> Open(
      Database& database, size_t capacity = limits::kMaxFeedbackAnswers);

  // The bytes that were remembered; nullopt for an empty key or one that is not known.
  absl::StatusOr<std::optional<std::string>> Find(std::string_view key) const;

  // The first answer of a key stays. Nothing for an empty key. LIMIT_EXCEEDED for a long answer;
  // the errors of Database::Write.
  absl::Status Remember(std::string_view key, std::string_view answer);

 private:
  explicit AnswerStore(Database& database, size_t capacity)
      : database_(database), capacity_(capacity) {}

  Database& database_;
  const size_t capacity_;
  Mutex mutex_;
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 1;  // numbers in order of time
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace ruvd::storage
