// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

// The kinds of files that hold texts to learn from. Clients and the node read their names alike.
namespace ruvd {

enum class LessonFormat : uint8_t {
  kPlainText,  // paragraphs, separated by blank lines
  kMarkdown,   // sections; a heading stays with its text, and a fenced block stays whole
  kJsonLines,  // every line an object with a string "text" and perhaps a string "prompt"
};

// The names that LessonFormatOf knows, for messages.
inline constexpr char kLessonFileNames[] = "*.txt, *.text, *.md, *.markdown, *.jsonl or *.ndjson";

// Returns the format that a file's name says: .txt, .text or no ending; .md or .markdown; .jsonl or
// .ndjson, in upper or lower case. Returns nullopt for any other ending.
inline std::optional<LessonFormat> LessonFormatOf(std::string_view file_name) {
  const std::string_view base = file_name.substr(file_name.rfind('/') + 1);
  const size_t dot = base.rfind('.');
  const std::string ending =
      dot == base.npos ? "" : absl::AsciiStrToLower(std::string(base.substr(dot)));
  if (ending.empty() || ending == ".txt" || ending == ".text") {
    return LessonFormat::kPlainText;
  }
  if (ending == ".md" || ending == ".markdown") {
    return LessonFormat::kMarkdown;
  }
  if (ending == ".jsonl" || ending == ".ndjson") {
    return LessonFormat::kJsonLines;
  }
  return std::nullopt;
}

}  // namespace ruvd
