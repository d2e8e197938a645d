// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/remembered_lessons.h"

namespace ruvd::serving {
namespace {

class ReadRequest final : public RequestExtension {
 public:
  explicit ReadRequest(const LessonMemories& memories) : memories_(memories) {}

  void BeforeFirstForward(ServedRequest& request,
                          inference::Transformer& /*transformer*/) override {
    request.SetTokenMemory(memories_.ReaderFor(
        request.job().user_id, request.mode() == inference::DecodingMode::kAutoregressive));
  }

 private:
  const LessonMemories& memories_;
};

}  // namespace

std::unique_ptr<RequestExtension> RememberedLessons::Extend(const GenerationJob& /*job*/) {
  return std::make_unique<ReadRequest>(memories_);
}

}  // namespace ruvd::serving
