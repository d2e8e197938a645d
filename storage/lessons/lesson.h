// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "storage/limits.h"

namespace ruvd::storage {

// Names a lesson: a keyed hash of its user, prompt and text. Texts that differ only in line ends,
// trailing blanks and numbers of blank lines have the same id.
using LessonId = std::array<uint8_t, 16>;
// Names a source: a keyed hash of its user, name and content. Both ids differ between stores, so
// they tell nothing to those who know a text but not the store.
using LessonSourceId = std::array<uint8_t, 16>;

// A piece of a text, before it is stored.
struct NewLesson {
  std::string prompt;  // empty: the text is learned without a prompt
  std::string text;    // not only blanks
};

// The file or text from which lessons were cut.
struct LessonSource {
  LessonSourceId id{};  // given by the store
  std::string name;     // base name or relative path, not absolute; 1 to kMaxSourceNameBytes bytes
  Digest content_hash{};  // SHA-256 of the content
  uint64_t bytes = 0;     // size of the content
  uint32_t lessons = 0;   // lessons of this source that are stored; counted by the store
  // the user whose key seals the source and its lessons; empty: the key of all lessons without a
  // user
  std::string user_id;
  // Most that the adder allows to leave the node, as privacy::ConsentTier numbers it; 0: the
  // consents alone decide.
  uint32_t tier = 0;
  int64_t created_ms = 0;  // not negative
  // False if adding it was interrupted; adding it again completes it. Kept by the store.
  bool complete = false;
  bool operator==(const LessonSource&) const = default;
};

struct StoredLesson {
  LessonId id{};
  uint64_t number = 0;  // its place in the order of adding, from 1
  LessonSourceId source{};
  uint32_t index = 0;  // place among the lessons given for the source, from 0
  std::string user_id;
  std::string prompt;
  std::string text;
  int64_t created_ms = 0;
  uint32_t tier = 0;  // see LessonSource; never looser than its source's at the time of adding
  bool operator==(const StoredLesson&) const = default;
};

// What the store tells about a lesson without reading its text.
struct LessonEntry {
  LessonId id{};
  uint64_t number = 0;
  LessonSourceId source{};
  uint32_t bytes = 0;  // of prompt and text
  bool operator==(const LessonEntry&) const = default;
};

struct AddedLessons {
  // nullopt: the source is not stored, because it has no lesson that another source has not
  std::optional<LessonSourceId> source;
  size_t added = 0;
  // Lessons that this user already had, from this source or another one, or twice in the call. They
  // stay with the source that brought them first.
  size_t duplicates = 0;
  // Duplicates whose tier was lowered to that of this call; no call ever raises a tier.
  size_t lowered = 0;
};

struct WithdrawnLessons {
  size_t lessons = 0;
  size_t sources = 0;  // sources of which no lesson is left
};

// Withdrawals of lessons since the store was opened, those not handled before counting as one, and
// how many of them were handled.
struct LessonWithdrawals {
  uint64_t made = 0;
  uint64_t handled = 0;  // at most `made`
  bool operator==(const LessonWithdrawals&) const = default;
};

struct LessonQuery {
  std::optional<LessonSourceId> source = std::nullopt;  // only lessons of this source
  std::optional<std::string> user_id = std::nullopt;    // only of this user; "": without a user
  uint64_t from = 0;                                    // the first number to show
  size_t most = limits::kMaxListPageSize;
  // At least one lesson is shown, however long it is.
  size_t most_bytes = limits::kMaxLessonPageBytes;
};

struct LessonPage {
  std::vector<StoredLesson> lessons;  // in order of their numbers
  // `from` of the next page; nullopt: this is the last
  std::optional<uint64_t> next = std::nullopt;
};

}  // namespace ruvd::storage
