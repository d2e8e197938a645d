// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/utf8.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/learning/lesson_cutter.h"
#include "tests/inference/text_model.h"

// The first byte chooses the format; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using ruvd::LessonFormat;
  using ruvd::learning::CutLesson;
  if (size == 0) {
    return 0;
  }
  static const std::unique_ptr<ruvd::inference::Tokenizer> tokenizer = ruvd::test::ByteTokenizer();
  constexpr LessonFormat kFormats[] = {LessonFormat::kPlainText, LessonFormat::kMarkdown,
                                       LessonFormat::kJsonLines};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto file = ruvd::learning::CutLessons(bytes, kFormats[data[0] % 3], *tokenizer);
  if (!file.ok()) {
    return 0;
  }
  for (const CutLesson& lesson : file->lessons) {
    const bool fits = !lesson.prompt.empty() || lesson.text.size() <= 160;
    const bool blank = lesson.text.find_first_not_of(" \t\n\v\f\r") == std::string::npos;
    if (!fits || blank || !ruvd::IsUtf8(lesson.text) || !ruvd::IsUtf8(lesson.prompt)) {
      std::abort();
    }
  }
  return 0;
}
