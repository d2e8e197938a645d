// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "node/serving/extensions/lesson_memories.h"

namespace ruvd::learning {

struct MemoryStatus {
  bool enabled = true;
  std::string disabled_because;  // if not enabled
  size_t waiting = 0;            // lessons that are still to be read
  size_t restored = 0;           // lessons that the start took from the store
  serving::LessonMemoriesStatus memories;
};

// The memory loop: it reads lessons with the model, so that their words take part in completions.
// Thread-safe.
class MemoryActor {
 public:
  virtual ~MemoryActor() = default;
  // Lessons came, or must not teach any more: they are read, or forgotten, soon.
  virtual void OnLessonsChanged() = 0;
  // A completion was stored whose prompt may be remembered: it is read soon.
  virtual void OnStored(const std::string& response_id) = 0;
  // A completion was rated or corrected: forgets what it taught before, if that is no longer so,
  // before it returns; what it teaches now is read soon.
  virtual void OnRated(const std::string& response_id) = 0;
  // Lessons were withdrawn: forgets those that are gone before it returns.
  virtual void OnLessonsWithdrawn() = 0;
  // What these responses taught was undone: forgets them before it returns. A response that may
  // still teach is read again.
  virtual void OnUndone(const std::vector<std::string>& responses) = 0;
  // A user was erased, or is about to be: forgets the user's lessons before it returns.
  virtual void ForgetUser(const std::string& user_id) = 0;
  virtual MemoryStatus status() const = 0;
};

}  // namespace ruvd::learning
