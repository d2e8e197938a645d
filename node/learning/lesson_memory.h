// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "node/learning/learning_services.h"
#include "node/serving/extensions/lesson_memories.h"
#include "storage/tokens/observed_store.h"

namespace ruvd::learning {

// A lesson that the node's memory may hold.
struct LessonToRemember {
  std::string name;
  Digest source{};  // of what it teaches; zero for a lesson from a text, which never changes
  uint64_t rank =
      0;  // as in serving::RememberedLesson: completions above texts, new ones above old
};

// Returns the lessons that the node's memory may hold, highest rank first: completions that teach
// something, then the texts that were added last. `max_texts` bounds the texts. Returns CANCELLED
// and the errors of the stores.
absl::StatusOr<std::vector<LessonToRemember>> LessonsToRemember(const LearningServices& services,
                                                                float min_rating, size_t max_texts);

// Reads a lesson with the model, masked (unless the model has no mask token) and from left to
// right. Where a lesson does not fit the model's context, its prompt loses its beginning and its
// text its end. A completion needs only its name. Nullopt if the lesson is gone, teaches nothing or
// must not, or has fewer than two tokens. Returns CANCELLED, and the errors of the stores and of
// Transformer::Forward.
absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const LessonToRemember& lesson, float min_rating);

// Returns whether a lesson that was read is still there, may teach, and teaches the same. Returns
// the errors of the stores. Thread-safe.
absl::StatusOr<bool> StillTeaches(const LearningServices& services, const std::string& name,
                                  const Digest& source, float min_rating);

// What a start finds of lessons that were read before.
struct KeptLessons {
  std::vector<serving::RememberedLesson> lessons;  // in the order of `wanted`
  std::set<std::string> outdated;  // kept lessons that are gone or changed, or have no room
  size_t damaged = 0;              // lessons whose rows were damaged
};
// Reads those of the wanted lessons that were kept, the first ones up to `max_tokens` tokens.
// Returns CANCELLED and the errors of the store.
absl::StatusOr<KeptLessons> ReadKeptLessons(const LearningServices& services,
                                            const inference::MemoryParameters& parameters,
                                            std::span<const LessonToRemember> wanted,
                                            size_t max_tokens, storage::ObservedStore& store);
// Returns a lesson as the store keeps it.
storage::ObservedLesson ToKeep(const inference::MemoryParameters& parameters,
                               const serving::RememberedLesson& lesson);

}  // namespace ruvd::learning
