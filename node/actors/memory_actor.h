// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "base/executor.h"
#include "node/learning/learning_services.h"
#include "node/learning/learning_throttle.h"
#include "node/learning/lesson_memory.h"
#include "node/learning/memory.h"
#include "node/runtime/actor_system.h"
#include "node/serving/extensions/lesson_memories.h"
#include "storage/tokens/observed_store.h"

namespace ruvd::actors {

// Everything is borrowed and must outlive the actor system.
struct MemoryActorOptions {
  learning::LearningServices services;  // `embedder` is used on `pool` only
  learning::MemoryRules rules;
  size_t max_tokens = 0;  // of the memories, which bounds the texts that are read
  serving::LessonMemories* memories = nullptr;
  storage::ObservedStore* kept = nullptr;  // of lessons that were read; null: a start reads anew
  Executor* pool = nullptr;                // one thread of low priority
  // Slows the reading of lessons that were not rated just now; null: it is not slowed.
  learning::LearningThrottle* throttle = nullptr;
  std::string disabled_because;  // not empty: nothing is remembered, for this reason
};

// Starts the actor that keeps the memories in step with the stores of lessons: it takes the lessons
// that were read before a start from their store, forgets what is gone, and reads what is new, a
// few lessons at a time.
std::unique_ptr<learning::MemoryActor> StartMemoryActor(runtime::ActorSystem& system,
                                                        const MemoryActorOptions& options);

}  // namespace ruvd::actors
