// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/pre_tokenizer.h"

#include <utility>

namespace ruvd::inference {
namespace {

constexpr WordPattern kGpt2[] = {FindGpt2Word};
constexpr WordPattern kQwen2[] = {FindQwen2Word};
constexpr WordPattern kQwen35[] = {FindQwen35Word};
constexpr WordPattern kLlama3[] = {FindLlama3Word};
constexpr WordPattern kSeedCoder[] = {FindSeedCoderWord};
constexpr WordPattern kTekken[] = {FindTekkenWord};
constexpr WordPattern kStarCoder[] = {FindNumber, FindGpt2Word};
constexpr WordPattern kFalcon[] = {FindFalconPunctuation, FindGpt2Word, FindThreeDigits};
constexpr WordPattern kDeepSeekLlm[] = {
    FindNewline,    FindDeepSeekLetters,    FindDeepSeekPunctuation,
    FindSpaceAtEnd, FindDeepSeekIdeographs, FindNumbers};
constexpr WordPattern kDeepSeekCoder[] = {FindNewline, FindSpacedLetters, FindSpacedPunctuation,
                                          FindDeepSeekIdeographs, FindNumber};
constexpr WordPattern kDefault[] = {FindPunctuation, FindGpt2Word, FindNumbers, FindThreeDigits};

std::span<const WordPattern> PatternsOf(PreTokenizer kind) {
  switch (kind) {
    case PreTokenizer::kGpt2:
      return kGpt2;
    case PreTokenizer::kQwen2:
      return kQwen2;
    case PreTokenizer::kQwen35:
      return kQwen35;
    case PreTokenizer::kLlama3:
      return kLlama3;
    case PreTokenizer::kSeedCoder:
      return kSeedCoder;
    case PreTokenizer::kTekken:
      return kTekken;
    case PreTokenizer::kStarCoder:
      return kStarCoder;
    case PreTokenizer::kFalcon:
      return kFalcon;
    case PreTokenizer::kDeepSeekLlm:
      return kDeepSeekLlm;
    case PreTokenizer::kDeepSeekCoder:
      return kDeepSeekCoder;
    case PreTokenizer::kDefault:
      break;
  }
  return kDefault;
}

struct NamedEntry {
  std::string_view name;
  PreTokenizerEntry entry;
};

constexpr PreTokenizerEntry kPlainGpt2{.kind = PreTokenizer::kGpt2};
constexpr PreTokenizerEntry kJina2{.kind = PreTokenizer::kGpt2, .mask_strips_left = true};
// Other names of Qwen2's expression. "bailingmoe" matches one newline where Qwen2 matches several;
// the result is the same, because the preceding white space takes the other newlines.
constexpr PreTokenizerEntry kPlainQwen2{.kind = PreTokenizer::kQwen2};
constexpr PreTokenizerEntry kLlamaFamily{
    .kind = PreTokenizer::kLlama3, .ignore_merges = true, .add_bos = true};
constexpr PreTokenizerEntry kPlainLlama3{.kind = PreTokenizer::kLlama3};
constexpr PreTokenizerEntry kPlainStarCoder{.kind = PreTokenizer::kStarCoder};

constexpr NamedEntry kNames[] = {
    {"default", {.kind = PreTokenizer::kDefault}},
    {"gpt-2", kPlainGpt2},
    {"phi-2", kPlainGpt2},
    {"mpt", kPlainGpt2},
    {"olmo", kPlainGpt2},
    {"jais", kPlainGpt2},
    {"trillion", kPlainGpt2},
    {"exaone4", kPlainGpt2},
    {"granite-docling", kPlainGpt2},
    {"modern-bert", kPlainGpt2},
    {"mellum", kPlainGpt2},
    {"gigachat", kPlainGpt2},
    {"a.x-4.0", kPlainGpt2},
    {"jina-es", kPlainGpt2},
    {"jina-de", kPlainGpt2},
    {"jina-v2-es", kJina2},
    {"jina-v2-de", kJina2},
    {"jina-v2-code", kJina2},
    {"jina-v1-en", kPlainGpt2},
    {"roberta-bpe", kPlainGpt2},
    {"qwen2", kPlainQwen2},
    {"deepseek-r1-qwen", kPlainQwen2},
    {"megrez", kPlainQwen2},
    {"stablelm2", kPlainQwen2},
    {"hunyuan", kPlainQwen2},
    {"solar-open", kPlainQwen2},
    {"grok-2", kPlainQwen2},
    {"kormo", kPlainQwen2},
    {"f2llmv2", kPlainQwen2},
    {"bailingmoe", kPlainQwen2},
    {"bailingmoe2", kPlainQwen2},
    {"llada-moe", kPlainQwen2},
    {"qwen35", {.kind = PreTokenizer::kQwen35}},
    {"seed-coder", {.kind = PreTokenizer::kSeedCoder}},
    {"llama-bpe", kLlamaFamily},
    {"llama3", kLlamaFamily},
    {"llama-v3", kLlamaFamily},
    {"falcon3", kLlamaFamily},
    {"falcon-h1", kLlamaFamily},
    {"pixtral", kLlamaFamily},
    {"midm-2.0", kLlamaFamily},
    {"lfm2", kLlamaFamily},
    {"jina-v5-nano", kLlamaFamily},
    {"tekken", {.kind = PreTokenizer::kTekken, .ignore_merges = true, .add_bos = true}},
    {"dbrx", kPlainLlama3},
    {"smaug-bpe", kPlainLlama3},
    {"glm4", kPlainLlama3},
    {"chatglm-bpe", kPlainLlama3},
    {"starcoder", kPlainStarCoder},
    {"refact", kPlainStarCoder},
    {"command-r", kPlainStarCoder},
    {"smollm", kPlainStarCoder},
    {"codeshell", kPlainStarCoder},
    {"exaone", kPlainStarCoder},
    {"minerva-7b", kPlainStarCoder},
    {"mellum2", kPlainStarCoder},
    {"falcon", {.kind = PreTokenizer::kFalcon}},
    {"deepseek-llm", {.kind = PreTokenizer::kDeepSeekLlm}},
    {"deepseek-coder", {.kind = PreTokenizer::kDeepSeekCoder}},
};

}  // namespace

std::optional<PreTokenizerEntry> PreTokenizerByName(std::string_view name) {
  for (const NamedEntry& known : kNames) {
    if (known.name == name) {
      return known.entry;
    }
  }
  return std::nullopt;
}

WordSplitter::WordSplitter(PreTokenizer kind, std::string_view text) : patterns_(PatternsOf(kind)) {
  levels_[0].rest = text;
}

bool WordSplitter::NextOf(size_t level, std::string_view* word) {
  Level& here = levels_.at(level);
  if (!here.match.empty()) {
    *word = std::exchange(here.match, {});
    return true;
  }
  if (here.rest.empty() && (level == 0 || !NextOf(level - 1, &here.rest))) {
    return false;
  }
  const TextSpan match = patterns_[level](here.rest);
  if (match.begin > 0) {
    *word = here.rest.substr(0, match.begin);
    here.match = here.rest.substr(match.begin, match.end - match.begin);
  } else {
    *word = here.rest.substr(0, match.end);
  }
  here.rest.remove_prefix(match.end);
  return true;
}

std::vector<std::string_view> SplitWords(PreTokenizer kind, std::string_view text) {
  std::vector<std::string_view> words;
  WordSplitter splitter(kind, text);
  for (std::string_view word; splitter.Next(&word);) {
    words.push_back(word);
  }
  return words;
}

}  // namespace ruvd::inference
