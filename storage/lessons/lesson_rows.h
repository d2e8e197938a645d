// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/db/key_scope.h"
#include "storage/lessons/lesson.h"

// Keys and plaintexts of the family `lesson`, which docs/store-format.md describes.
namespace ruvd::storage::lessons {

// The family has five kinds of rows: the lesson under its id; its entry under its number; the
// source under its id; an empty row under the source and the number, for the lessons of one source;
// and an empty row that is there while all withdrawals are handled.
inline constexpr char kLessonPrefix[] = "d/";
inline constexpr char kEntryPrefix[] = "t/";
inline constexpr char kSourcePrefix[] = "s/";
inline constexpr char kMemberPrefix[] = "m/";
inline constexpr char kHandledKey[] = "w/";

std::string LessonKey(const LessonId& id);
std::string EntryKey(uint64_t number);
std::string SourceKey(const LessonSourceId& id);
std::string MemberKey(const LessonSourceId& source, uint64_t number);
// Returns the beginning of the keys of a source's members.
std::string MembersOf(const LessonSourceId& source);

// These return nullopt for other keys. LessonIdOf and SourceIdOf read keys of lessons and sources.
std::optional<LessonId> LessonIdOf(std::string_view key);
std::optional<LessonSourceId> SourceIdOf(std::string_view key);
std::optional<uint64_t> NumberOfEntry(std::string_view key);
struct Member {
  LessonSourceId source{};
  uint64_t number = 0;
};
std::optional<Member> MemberOf(std::string_view key);

// Returns the scope of a user's rows, or that of the family for "".
KeyScope ScopeOf(std::string_view user_id);

std::string EncodeLesson(const StoredLesson& lesson);
std::string EncodeSource(const LessonSource& source);
std::string EncodeEntry(const LessonEntry& entry);
// Return STORE_CORRUPT for bytes that the functions above do not make. A source's number of lessons
// is not in its row: it is 0.
absl::StatusOr<StoredLesson> DecodeLesson(std::string_view bytes, const LessonId& id);
absl::StatusOr<LessonSource> DecodeSource(std::string_view bytes, const LessonSourceId& id);
absl::StatusOr<LessonEntry> DecodeEntry(std::string_view bytes, uint64_t number);

}  // namespace ruvd::storage::lessons
