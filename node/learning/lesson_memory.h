// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/learning/learning_services.h"
#include "node/serving/extensions/lesson_memories.h"
#include "storage/tokens/observed_store.h"

namespace ruvd::learning {

// What a memory may hold beside added texts and completions that teach.
struct MemoryRules {
  float min_rating = 0.7F;  // of a completion that teaches
  bool prompts = false;     // prompts of requests that name a user, too
};

// A lesson that the node's memory may hold.
struct LessonToRemember {
  std::string name;
  std::string user_id;
  Digest source{};    // of what it teaches; zero for a lesson from a text, which never changes
  uint64_t rank = 0;  // as in serving::RememberedLesson: completions above prompts
                      // and those above texts, new ones above old
};

// A part of a prompt, as places of its tokens.
struct NewPart {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const NewPart&) const = default;
};
// Returns the last message of a conversation: earlier ones came with earlier prompts. It is the
// last stretch of at least eight tokens without a control token; empty, at the end, without such a
// stretch. All of the conversation if its format has no control tokens.
NewPart NewPartOf(std::span<const inference::TokenId> conversation,
                  const std::function<bool(inference::TokenId)>& is_control);

// Returns the lessons that the node's memory may hold, highest rank first: completions that teach
// something, then prompts, then the texts that were added last. `max_texts` bounds the texts of
// each user. Returns CANCELLED and the errors of the stores.
absl::StatusOr<std::vector<LessonToRemember>> LessonsToRemember(const LearningServices& services,
                                                                const MemoryRules& rules,
                                                                size_t max_texts);

// Reads a lesson with the model, masked (unless the model has no mask token) and from left to
// right. Where a lesson does not fit the model's context, its prompt loses its beginning and its
// text its end. Where prompts are remembered, a completion's prompt is part of what is read: all of
// it, or the last message of a conversation. A completion needs only its name. Nullopt if the
// lesson is gone, teaches nothing or must not, or has fewer than two tokens. Returns CANCELLED, and
// the errors of the stores and of Transformer::Forward.
absl::StatusOr<std::optional<serving::RememberedLesson>> ObserveToRemember(
    const LearningServices& services, const inference::MemoryParameters& parameters,
    const LessonToRemember& lesson, const MemoryRules& rules);

// Returns whether a lesson that was read is still there, may teach, and teaches the same. Returns
// the errors of the stores. Thread-safe.
absl::StatusOr<bool> StillTeaches(const LearningServices& services, const std::string& name,
                                  const Digest& source, const MemoryRules& rules);

// What a start finds of lessons that were read before.
struct KeptLessons {
  std::vector<serving::RememberedLesson> lessons;  // in the order of `wanted`
  std::set<std::string> outdated;                  // kept lessons that are gone, changed or damaged
  size_t damaged = 0;                              // lessons whose rows were damaged
};
// Reads those of the wanted lessons that were kept. Returns CANCELLED and the errors of the store.
absl::StatusOr<KeptLessons> ReadKeptLessons(const LearningServices& services,
                                            const inference::MemoryParameters& parameters,
                                            std::span<const LessonToRemember> wanted,
                                            storage::ObservedStore& store);
// Returns a lesson as the store keeps it.
storage::ObservedLesson ToKeep(const inference::MemoryParameters& parameters,
                               const serving::RememberedLesson& lesson);

}  // namespace ruvd::learning
