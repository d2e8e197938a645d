// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/seal/data_key.h"
#include "storage/db/database.h"
#include "storage/lessons/lesson.h"

namespace ruvd::storage::lessons {

// The row of the family `default` with the key of the ids.
inline constexpr char kIdKeyRow[] = "lesson/key";

// Gives ids to lessons and sources: the first 16 bytes of HMAC-SHA-256 (RFC 2104) under a random
// key of this store. Row keys are not sealed, so a plain hash would let a thief of the disk test
// whether the store has a text. It is immutable and so thread-safe.
class LessonIds {
 public:
  // Reads the key, which is made and fsynced on the first call. Returns STORE_CORRUPT or an error
  // of Database.
  static absl::StatusOr<LessonIds> Open(Database& database);
  // Reads the key and changes nothing. Returns kNotFound where Open never ran.
  static absl::StatusOr<LessonIds> Read(const Database& database);

  // Lessons of different users never have the same id; see NormalText for texts that do.
  LessonId IdOf(std::string_view user_id, std::string_view prompt, std::string_view text) const;
  LessonSourceId SourceIdOf(std::string_view user_id, std::string_view name,
                            const Digest& content_hash) const;

 private:
  explicit LessonIds(privacy::DataKey key) : key_(std::move(key)) {}
  privacy::DataKey key_;
};

// Returns the text as ids see it: lines end in LF and without blanks, blank lines at the beginning
// and the end are gone, and several blank lines are one. Unicode is not normalised.
std::string NormalText(std::string_view text);

}  // namespace ruvd::storage::lessons
