// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/lesson_files.h"

namespace ruvd::learning {

// A text that is taught as one sequence, after its prompt if there is one. Both are UTF-8.
struct CutLesson {
  std::string prompt;
  std::string text;
  bool operator==(const CutLesson&) const = default;
};

// The lengths count tokens. A lesson may be a quarter longer than `most_tokens`, so that a
// short rest is not lost.
struct CutOptions {
  size_t most_tokens = 128;
  size_t least_tokens = 16;
};

struct CutLessonFile {
  std::vector<CutLesson> lessons;
  size_t too_short = 0;  // pieces with fewer than `least_tokens` tokens, which were left out
};

// Cuts a file into lessons, in the order of the file. Texts are cut at the largest borders that
// give short enough pieces: paragraphs, lines, sentences, words, characters. Neighbouring pieces
// are joined as long as they fit. Line ends become "\n", blanks at the end of lines and runs of
// blank lines go, and so does the front matter of Markdown. A pair of prompt and text is one
// lesson, whatever its length. The result depends on the arguments alone.
//
// Errors: FILE_UNREADABLE for bytes that are no text or not UTF-8 (with the place), and for a line
// that is no such object (with its number); LIMIT_EXCEEDED for a file above
// limits::kMaxLessonFileBytes or a pair above limits::kMaxLessonPairBytes.
absl::StatusOr<CutLessonFile> CutLessons(std::string_view bytes, LessonFormat format,
                                         const inference::Tokenizer& tokenizer,
                                         const CutOptions& options = {});

}  // namespace ruvd::learning
