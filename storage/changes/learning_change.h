// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "storage/patterns/pattern.h"

namespace ruvd::storage {

// Who changed something. Numbers are those of stored rows.
enum class LearningLoop : uint8_t { kInstant = 1, kBackground = 2, kDeep = 3 };
std::string_view LearningLoopName(LearningLoop loop);  // "instant", "background", "deep"

enum class ChangeKind : uint8_t {
  kSessionTaught = 1,     // lessons in the memory of a session
  kPatternStored = 2,     // a new pattern or the next version of one
  kPatternsMerged = 3,    // one pattern took another one's place
  kAdapterPublished = 4,  // the next version of an adapter that all requests get
  kRouterTrained = 5,     // the next version of what chooses how requests are served
};
std::string_view ChangeKindName(ChangeKind kind);  // "session_taught", "pattern_stored", ...

// Something that learning changed, and what it takes to change it back.
struct LearningChange {
  uint64_t number = 0;  // in the order of the changes, from 1
  uint32_t mark = 0;    // random: a number that a restored store gives again has another one
  int64_t created_ms = 0;
  LearningLoop loop = LearningLoop::kBackground;
  ChangeKind kind = ChangeKind::kPatternStored;
  // Whose feedback it was learned from, as far as that came since the change before. Of a merge:
  // whose lessons moved.
  std::vector<std::string> responses;
  bool on_demand = false;  // an operator asked for the round
  // Of kSessionTaught.
  std::string user_id;  // whose key seals the row; empty: the family's
  std::string session_id;
  std::optional<PatternId> pattern;  // that was stored, or stayed
  std::optional<PatternId> merged;   // that went
  // Of the model whose patterns are changed; zeros: unknown.
  Digest package_id{};
  std::string adapter_name;
  uint32_t version_before = 0;  // 0: there was none
  uint32_t version = 0;
  uint32_t lessons = 0;
  int64_t undone_ms = 0;  // 0: it stands
  // Patterns as they were before it, in rows of their own, and their size; ChangeStore sets both.
  // None any more where newer changes needed the room.
  uint32_t images = 0;
  uint64_t image_bytes = 0;
  // Of kSessionTaught: the session remembers it no more. Who lists changes for users says so; it is
  // not stored.
  bool forgotten = false;

  bool operator==(const LearningChange&) const = default;
};

// What an undo names: "NUMBER-MARK", the mark in eight hexadecimal digits.
std::string TokenOf(const LearningChange& change);

// A pattern before a change; none: there was no such pattern.
struct PatternImage {
  PatternId id{};
  std::optional<Pattern> before;
};

}  // namespace ruvd::storage
