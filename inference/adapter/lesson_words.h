// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/tokenizer/vocabulary.h"

namespace ruvd::inference {

class GgufReader;
class GgufWriter;

// Which words the lessons of an adapter have. They tell for which texts the adapter is meant. It is
// a plain value.
struct LessonWords {
  struct Count {
    TokenId token = 0;
    uint32_t lessons = 0;  // lessons that have the token, however often: at least 1
    bool operator==(const Count&) const = default;
  };
  uint32_t lessons = 0;       // all lessons
  std::vector<Count> counts;  // by ascending token; tokens of no lesson are left out
  bool operator==(const LessonWords&) const = default;
};

// Returns ADAPTER_INVALID if a token is beyond the vocabulary, out of order, or in no lesson or in
// more lessons than there are.
absl::Status CheckWords(const LessonWords& words, size_t vocabulary);

// Writes and reads the words among the keys of an adapter file: ruvd.words.lessons (u32), .tokens
// and .counts (i32 arrays of one length). Without them ReadWords returns nullopt. It returns
// ADAPTER_INVALID for arrays that do not fit each other and for what CheckWords refuses.
void WriteWords(const LessonWords& words, GgufWriter* out);
absl::StatusOr<std::optional<LessonWords>> ReadWords(const GgufReader& gguf, size_t vocabulary);

// Adds the words of more lessons to `words`. Their sum of lessons must be at most
// limits::kMaxWordLessons.
void AddWords(const LessonWords& more, LessonWords* words);

// Counts the words of lessons, one lesson after the other.
class LessonWordCounter {
 public:
  void Add(std::span<const TokenId> lesson);
  LessonWords Finish() const;

 private:
  uint32_t lessons_ = 0;
  std::map<TokenId, uint32_t> counts_;
};

}  // namespace ruvd::inference
