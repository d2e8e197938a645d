// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/taught_node.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::bench {

// A file for `ruvd learn add`: JSON Lines of the pieces of one document.
struct LessonUpload {
  std::string name;
  std::string lines;
  size_t lessons = 0;
};

// The lessons of one domain.
struct LessonTexts {
  std::string name;
  std::vector<LessonUpload> files;
  size_t lessons = 0;
};

// Pieces of text that are scored, by beginning and end.
struct ScoredTexts {
  std::string name;
  std::vector<TextPair> pairs;
  std::vector<size_t> documents;  // by pair: its document's number
};

// Everything that nodes are taught and scored on.
struct NodeTexts {
  std::vector<LessonTexts> lessons;  // by domain
  std::vector<ScoredTexts> held_out;
  ScoredTexts general;  // empty if there was no such text
};

struct NodeTextSizes {
  size_t lessons = 2000;
  size_t pieces = 40;
};

// Groups lessons by document. `documents` has the document of each text.
LessonTexts LessonsOf(const std::string& name, std::span<const TextPair> texts,
                      std::span<const size_t> documents);

// Reads the domains, each from its two files, and general text if `general` is not empty. Lessons
// have 112 tokens, scored pieces 128; both lie at even distances. Errors are those of reading.
absl::StatusOr<NodeTexts> ReadNodeTexts(std::span<const DomainFiles> domains,
                                        const std::string& general,
                                        const inference::Tokenizer& tokenizer,
                                        const NodeTextSizes& sizes);

}  // namespace ruvd::bench
