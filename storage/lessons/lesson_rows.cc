// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_rows.h"

#include <algorithm>

#include "base/status.h"
#include "privacy/consent/consent.h"
#include "ruvd/storage/v1/lesson.pb.h"
#include "storage/db/row_key.h"
#include "storage/row_text.h"

namespace ruvd::storage::lessons {
namespace {

constexpr size_t kPrefixBytes = 2;
constexpr size_t kIdBytes = sizeof(LessonId);
constexpr auto kMaxTier = static_cast<uint32_t>(privacy::ConsentTier::kPublic);

std::array<uint8_t, kIdBytes> IdAt(std::string_view bytes, size_t offset) {
  std::array<uint8_t, kIdBytes> id;
  std::ranges::copy(AsBytes(bytes).subspan(offset, kIdBytes), id.begin());
  return id;
}

std::optional<std::array<uint8_t, kIdBytes>> IdOfKey(std::string_view key,
                                                     std::string_view prefix) {
  if (!key.starts_with(prefix) || key.size() != kPrefixBytes + kIdBytes) {
    return std::nullopt;
  }
  return IdAt(key, kPrefixBytes);
}

}  // namespace

std::string LessonKey(const LessonId& id) {
  return RowKey().Text(kLessonPrefix).Bytes(id).Take();
}

std::string EntryKey(uint64_t number) {
  return RowKey().Text(kEntryPrefix).U64(number).Take();
}

std::string SourceKey(const LessonSourceId& id) {
  return RowKey().Text(kSourcePrefix).Bytes(id).Take();
}

std::string MemberKey(const LessonSourceId& source, uint64_t number) {
  return RowKey().Text(kMemberPrefix).Bytes(source).U64(number).Take();
}

std::string MembersOf(const LessonSourceId& source) {
  return RowKey().Text(kMemberPrefix).Bytes(source).Take();
}

std::optional<LessonId> LessonIdOf(std::string_view key) {
  return IdOfKey(key, kLessonPrefix);
}

std::optional<LessonSourceId> SourceIdOf(std::string_view key) {
  return IdOfKey(key, kSourcePrefix);
}

std::optional<uint64_t> NumberOfEntry(std::string_view key) {
  if (!key.starts_with(kEntryPrefix) || key.size() != kPrefixBytes + sizeof(uint64_t)) {
    return std::nullopt;
  }
  return ReadKeyU64(key, kPrefixBytes);
}

std::optional<Member> MemberOf(std::string_view key) {
  if (!key.starts_with(kMemberPrefix) || key.size() != kPrefixBytes + kIdBytes + sizeof(uint64_t)) {
    return std::nullopt;
  }
  return Member{IdAt(key, kPrefixBytes), *ReadKeyU64(key, kPrefixBytes + kIdBytes)};
}

KeyScope ScopeOf(std::string_view user_id) {
  return user_id.empty() ? KeyScope() : KeyScope::User(user_id);
}

std::string EncodeLesson(const StoredLesson& lesson) {
  v1::StoredLesson row;
  row.set_number(lesson.number);
  row.set_source(lesson.source.data(), lesson.source.size());
  row.set_index(lesson.index);
  row.set_user_id(lesson.user_id);
  row.set_prompt(lesson.prompt);
  row.set_text(lesson.text);
  row.set_created_ms(lesson.created_ms);
  row.set_tier(lesson.tier);
  return row.SerializeAsString();
}

absl::StatusOr<StoredLesson> DecodeLesson(std::string_view bytes, const LessonId& id) {
  constexpr char kRow[] = "a lesson's row";
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::StoredLesson>(bytes, kRow));
  if (row.number() == 0 || row.source().size() != kIdBytes || row.text().empty() ||
      row.created_ms() < 0 || row.tier() > kMaxTier) {
    return CorruptRow(kRow);
  }
  return StoredLesson{.id = id,
                      .number = row.number(),
                      .source = IdAt(row.source(), 0),
                      .index = row.index(),
                      .user_id = row.user_id(),
                      .prompt = row.prompt(),
                      .text = row.text(),
                      .created_ms = row.created_ms(),
                      .tier = row.tier()};
}

std::string EncodeSource(const LessonSource& source) {
  v1::LessonSource row;
  row.set_name(source.name);
  row.set_content_hash(source.content_hash.data(), source.content_hash.size());
  row.set_bytes(source.bytes);
  row.set_user_id(source.user_id);
  row.set_tier(source.tier);
  row.set_created_ms(source.created_ms);
  row.set_complete(source.complete);
  return row.SerializeAsString();
}

absl::StatusOr<LessonSource> DecodeSource(std::string_view bytes, const LessonSourceId& id) {
  constexpr char kRow[] = "the row of a source of lessons";
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::LessonSource>(bytes, kRow));
  LessonSource source{.id = id,
                      .name = row.name(),
                      .bytes = row.bytes(),
                      .user_id = row.user_id(),
                      .tier = row.tier(),
                      .created_ms = row.created_ms(),
                      .complete = row.complete()};
  if (source.name.empty() || row.content_hash().size() != source.content_hash.size() ||
      source.created_ms < 0 || source.tier > kMaxTier) {
    return CorruptRow(kRow);
  }
  std::ranges::copy(AsBytes(row.content_hash()), source.content_hash.begin());
  return source;
}

std::string EncodeEntry(const LessonEntry& entry) {
  return ByteWriter().WriteBytes(entry.id).WriteBytes(entry.source).Write(entry.bytes).Take();
}

absl::StatusOr<LessonEntry> DecodeEntry(std::string_view bytes, uint64_t number) {
  ByteReader reader(AsBytes(bytes));
  const auto id = reader.ReadArray<kIdBytes>();
  const auto source = reader.ReadArray<kIdBytes>();
  const auto size = reader.Read<uint32_t>();
  if (!size || reader.remaining() != 0) {
    return CorruptRow("a lesson's entry");
  }
  return LessonEntry{.id = *id, .number = number, .source = *source, .bytes = *size};
}

}  // namespace ruvd::storage::lessons
