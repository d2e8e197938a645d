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

// The loop that changed something. The numbers are stored in rows.
enum class LearningLoop : uint8_t { kInstant = 1, kBackground = 2, kDeep = 3 };
std::string_view LearningLoopName(LearningLoop loop);  // "instant", "background", "deep"

enum class ChangeKind : uint8_t {
  kSessionTaught = 1,     // lessons in the memory of a session
  kPatternStored = 2,     // a new pattern or the next version of one
  kPatternsMerged = 3,    // one pattern took another one's place
  kAdapterPublished = 4,  // the next version of an adapter that all requests use
  kRouterTrained = 5,     // the next version of the router, which chooses how requests are served
  kLessonRemembered = 6,  // a rated or corrected completion, in the memory of its user
};
std::string_view ChangeKindName(ChangeKind kind);  // "session_taught", "pattern_stored", ...

// A change that learning made, and the facts needed to undo it.
struct LearningChange {
  uint64_t number = 0;  // in the order of the changes, from 1
  uint32_t mark = 0;    // random: if a restored store reuses the number, the mark differs
  int64_t created_ms = 0;
  LearningLoop loop = LearningLoop::kBackground;
  ChangeKind kind = ChangeKind::kPatternStored;
  // The responses whose feedback was learned, as far as it came after the change before. For a
  // merge: the responses whose lessons moved.
  std::vector<std::string> responses;
  bool on_demand = false;  // an operator asked for the round
  // For kSessionTaught and kLessonRemembered:
  std::string user_id;     // the user whose key seals the row; empty: the key of the family
  std::string session_id;  // for kSessionTaught
  std::optional<PatternId> pattern;  // the pattern that was stored, or that stayed
  std::optional<PatternId> merged;   // the pattern that was merged into the other
  // The model whose patterns are changed; zeros: unknown.
  Digest package_id{};
  std::string adapter_name;
  uint32_t version_before = 0;  // 0: there was no version
  uint32_t version = 0;
  uint32_t lessons = 0;
  int64_t undone_ms = 0;  // 0: it is not undone
  // The number of patterns kept as they were before the change, in rows of their own, and their
  // size; ChangeStore sets both. They are 0 when newer changes needed the room.
  uint32_t images = 0;
  uint64_t image_bytes = 0;
  // For kSessionTaught and kLessonRemembered: it acts no more, or a later change undoes it. The
  // code that lists changes for users sets this; it is not stored.
  bool forgotten = false;

  bool operator==(const LearningChange&) const = default;
};

// Returns the token for an undo: "NUMBER-MARK", with the mark in eight hexadecimal digits.
std::string TokenOf(const LearningChange& change);

// A pattern before a change. Without `before` there was no such pattern.
struct PatternImage {
  PatternId id{};
  std::optional<Pattern> before;
};

}  // namespace ruvd::storage
