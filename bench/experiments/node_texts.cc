// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/node_texts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/status.h"
#include "bench/experiments/crops.h"

namespace ruvd::bench {
namespace {

// A node cuts texts into lessons of at most 128 tokens, which it counts a little high. Each of
// these pieces is one lesson.
constexpr CropShape kWhole{.tokens = 112, .window = 112};
// A completion after a short prompt, as requests have one.
constexpr CropShape kPrompted{.tokens = 128, .window = 112};

absl::StatusOr<ScoredTexts> ReadScored(const std::string& name, const std::string& path,
                                       const inference::Tokenizer& tokenizer, size_t pieces) {
  ASSIGN_OR_RETURN(const Crops crops, ReadCrops(path, tokenizer, kPrompted, pieces));
  ScoredTexts texts{.name = name, .pairs = {}, .documents = {}};
  texts.pairs = PairsOf(crops, tokenizer, &texts.documents);
  return texts;
}

}  // namespace

LessonTexts LessonsOf(const std::string& name, std::span<const TextPair> texts,
                      std::span<const size_t> documents) {
  LessonTexts lessons{.name = name, .files = {}, .lessons = texts.size()};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i == 0 || documents[i] != documents[i - 1]) {
      lessons.files.push_back({.name = fmt::format("{}-{:05}.jsonl", name, documents[i])});
    }
    LessonUpload& file = lessons.files.back();
    file.lines += nlohmann::json{{"text", texts[i].prompt + texts[i].completion}}.dump() + "\n";
    ++file.lessons;
  }
  return lessons;
}

absl::StatusOr<NodeTexts> ReadNodeTexts(std::span<const DomainFiles> domains,
                                        const std::string& general,
                                        const inference::Tokenizer& tokenizer,
                                        const NodeTextSizes& sizes) {
  NodeTexts texts;
  for (const DomainFiles& domain : domains) {
    ASSIGN_OR_RETURN(const Crops crops, ReadCrops(domain.train, tokenizer, kWhole, sizes.lessons));
    std::vector<size_t> documents;
    const std::vector<TextPair> pairs = PairsOf(crops, tokenizer, &documents);
    texts.lessons.push_back(LessonsOf(domain.name, pairs, documents));
    ASSIGN_OR_RETURN(ScoredTexts scored,
                     ReadScored(domain.name, domain.valid, tokenizer, sizes.pieces));
    texts.held_out.push_back(std::move(scored));
  }
  if (!general.empty()) {
    ASSIGN_OR_RETURN(texts.general, ReadScored("general", general, tokenizer, sizes.pieces));
  }
  return texts;
}

}  // namespace ruvd::bench
