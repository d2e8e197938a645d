// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/lesson_words.h"

#include <array>
#include <set>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kLessonsKey[] = "ruvd.words.lessons";
constexpr char kTokensKey[] = "ruvd.words.tokens";
constexpr char kCountsKey[] = "ruvd.words.counts";

}  // namespace

absl::Status CheckWords(const LessonWords& words, size_t vocabulary) {
  for (size_t i = 0; i < words.counts.size(); ++i) {
    const LessonWords::Count& count = words.counts[i];
    const bool ordered = i == 0 || words.counts[i - 1].token < count.token;
    if (!ordered || count.token >= vocabulary || count.lessons == 0 ||
        count.lessons > words.lessons) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                   "the adapter's words are damaged: entry {} says that token {} is in {} of {} "
                   "lessons; the vocabulary has {} tokens; get the adapter again",
                   i, count.token, count.lessons, words.lessons, vocabulary);
    }
  }
  return absl::OkStatus();
}

void WriteWords(const LessonWords& words, GgufWriter* out) {
  std::vector<int32_t> tokens;
  std::vector<int32_t> counts;
  for (const LessonWords::Count& count : words.counts) {
    tokens.push_back(static_cast<int32_t>(count.token));
    counts.push_back(static_cast<int32_t>(count.lessons));
  }
  out->SetUnsigned32(kLessonsKey, words.lessons);
  out->SetInt32Array(kTokensKey, tokens);
  out->SetInt32Array(kCountsKey, counts);
}

absl::StatusOr<std::optional<LessonWords>> ReadWords(const GgufReader& gguf, size_t vocabulary) {
  if (!gguf.Has(kLessonsKey) && !gguf.Has(kTokensKey) && !gguf.Has(kCountsKey)) {
    return std::nullopt;
  }
  const auto damaged = [] {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
        "the adapter's words cannot be read: {}, {} and {} must be a number and two arrays "
        "of one length, at most that of the vocabulary; get the adapter again",
        kLessonsKey, kTokensKey, kCountsKey);
  };
  const auto lessons = gguf.GetUnsigned(kLessonsKey);
  const auto length = gguf.GetArrayLength(kTokensKey);
  if (!lessons.ok() || *lessons > limits::kMaxWordLessons || !length.ok() || *length > vocabulary ||
      gguf.GetArrayLength(kCountsKey).value_or(vocabulary + 1) != *length) {
    return damaged();
  }
  const auto tokens = gguf.GetIntArray(kTokensKey);
  const auto counts = gguf.GetIntArray(kCountsKey);
  if (!tokens.ok() || !counts.ok()) {
    return damaged();
  }
  LessonWords words{.lessons = static_cast<uint32_t>(*lessons), .counts = {}};
  for (size_t i = 0; i < *length; ++i) {
    const int64_t token = (*tokens)[i];
    const int64_t count = (*counts)[i];
    if (token < 0 || token > INT32_MAX || count < 0 || count > INT32_MAX) {
      return damaged();
    }
    words.counts.push_back(
        {.token = static_cast<TokenId>(token), .lessons = static_cast<uint32_t>(count)});
  }
  RETURN_IF_ERROR(CheckWords(words, vocabulary));
  return words;
}

void AddWords(const LessonWords& more, LessonWords* words) {
  std::map<TokenId, uint32_t> counts;
  for (const LessonWords* const part : std::array<const LessonWords*, 2>{words, &more}) {
    for (const LessonWords::Count& count : part->counts) {
      counts[count.token] += count.lessons;
    }
  }
  words->lessons += more.lessons;
  words->counts.clear();
  for (const auto& [token, lessons] : counts) {
    words->counts.push_back({.token = token, .lessons = lessons});
  }
}

void LessonWordCounter::Add(std::span<const TokenId> lesson) {
  ++lessons_;
  for (const TokenId token : std::set<TokenId>(lesson.begin(), lesson.end())) {
    ++counts_[token];
  }
}

LessonWords LessonWordCounter::Finish() const {
  LessonWords words{.lessons = lessons_, .counts = {}};
  words.counts.reserve(counts_.size());
  for (const auto& [token, lessons] : counts_) {
    words.counts.push_back({.token = token, .lessons = lessons});
  }
  return words;
}

}  // namespace ruvd::inference
