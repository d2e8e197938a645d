// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/extensions/lesson_memories.h"
#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Lets what the node remembers of lessons take part in every choice of a token. It takes part in
// all requests; one whose user sees no lessons is served as if it did not.
class RememberedLessons final : public RequestExtensionFactory {
 public:
  // `memories` is borrowed.
  explicit RememberedLessons(const LessonMemories& memories) : memories_(memories) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

 private:
  const LessonMemories& memories_;
};

}  // namespace ruvd::serving
