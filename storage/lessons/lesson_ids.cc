// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_ids.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "privacy/sodium.h"
#include "storage/db/file_key.h"

namespace ruvd::storage::lessons {
namespace {

constexpr char kWhat[] = "the ids of lessons";
// The kinds of ids; the two never have the same hashed bytes.
constexpr uint8_t kLesson = 1;
constexpr uint8_t kSource = 2;

void WriteSized(std::string_view text, ByteWriter* writer) {
  writer->Write(static_cast<uint32_t>(text.size())).WriteText(text);
}

LessonId Hash(const privacy::DataKey& key, std::string_view bytes) {
  privacy::InitSodium();
  crypto_auth_hmacsha256_state state;
  Digest whole;
  crypto_auth_hmacsha256_init(&state, key.bytes().data(), key.bytes().size());
  crypto_auth_hmacsha256_update(&state, AsBytes(bytes).data(), bytes.size());
  crypto_auth_hmacsha256_final(&state, whole.data());
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(&state), sizeof(state)});
  LessonId id;
  std::memcpy(id.data(), whole.data(), id.size());
  return id;
}

}  // namespace

std::string NormalText(std::string_view text) {
  std::string normal;
  bool gap = false;  // blank lines were left out
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) {
      gap = true;
      continue;
    }
    if (!normal.empty()) {
      normal += gap ? "\n\n" : "\n";
    }
    normal += line;
    gap = false;
  }
  return normal;
}

absl::StatusOr<LessonIds> LessonIds::Open(Database& database) {
  ASSIGN_OR_RETURN(privacy::DataKey key, StoredSecret(database, kIdKeyRow, kWhat));
  return LessonIds(std::move(key));
}

absl::StatusOr<LessonIds> LessonIds::Read(const Database& database) {
  ASSIGN_OR_RETURN(privacy::DataKey key, ReadStoredSecret(database, kIdKeyRow, kWhat));
  return LessonIds(std::move(key));
}

LessonId LessonIds::IdOf(std::string_view user_id, std::string_view prompt,
                         std::string_view text) const {
  ByteWriter writer;
  writer.Write(kLesson);
  WriteSized(user_id, &writer);
  WriteSized(NormalText(prompt), &writer);
  writer.WriteText(NormalText(text));
  return Hash(key_, writer.str());
}

LessonSourceId LessonIds::SourceIdOf(std::string_view user_id, std::string_view name,
                                     const Digest& content_hash) const {
  ByteWriter writer;
  writer.Write(kSource);
  WriteSized(user_id, &writer);
  writer.WriteBytes(content_hash).WriteText(name);
  return Hash(key_, writer.str());
}

}  // namespace ruvd::storage::lessons
