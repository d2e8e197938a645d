// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the store of lessons: what the decoders accept must encode to bytes that decode to the
// same value, and what is taken for a key must be that key.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/lessons/lesson_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::storage::lessons;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto lesson = DecodeLesson(bytes, {}); lesson.ok()) {
    RUVD_CHECK(DecodeLesson(EncodeLesson(*lesson), {}).value() == *lesson);
  }
  if (const auto source = DecodeSource(bytes, {}); source.ok()) {
    RUVD_CHECK(DecodeSource(EncodeSource(*source), {}).value() == *source);
  }
  if (const auto entry = DecodeEntry(bytes, 1); entry.ok()) {
    RUVD_CHECK(EncodeEntry(*entry) == bytes);
  }
  if (const auto id = LessonIdOf(bytes)) {
    RUVD_CHECK(LessonKey(*id) == bytes);
  }
  if (const auto id = SourceIdOf(bytes)) {
    RUVD_CHECK(SourceKey(*id) == bytes);
  }
  if (const auto number = NumberOfEntry(bytes)) {
    RUVD_CHECK(EntryKey(*number) == bytes);
  }
  if (const auto member = MemberOf(bytes)) {
    RUVD_CHECK(MemberKey(member->source, member->number) == bytes);
  }
  return 0;
}
