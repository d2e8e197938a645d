// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/instant/lessons.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "inference/instant/limits.h"

namespace ruvd::inference {
namespace {

InstantLesson LessonAt(const CommittedPosition& committed, TokenId token, float weight) {
  InstantLesson lesson{.token = token,
                       .weight = weight,
                       .hidden = committed.hidden,
                       .candidates = committed.candidates,
                       .probability = committed.probability};
  if (token != committed.token) {
    const auto found = std::find_if(committed.candidates.begin(), committed.candidates.end(),
                                    [token](const auto& entry) { return entry.token == token; });
    lesson.probability = found == committed.candidates.end() ? 0 : found->probability;
  }
  return lesson;
}

// A table of the lengths of the longest common subsequences of all pairs of suffixes.
class SuffixTable {
 public:
  SuffixTable(std::span<const CommittedPosition> before, std::span<const TokenId> after)
      : columns_(after.size() + 1), lengths_((before.size() + 1) * columns_) {
    for (size_t i = before.size(); i-- > 0;) {
      for (size_t j = after.size(); j-- > 0;) {
        at(i, j) = before[i].token == after[j] ? static_cast<uint16_t>(at(i + 1, j + 1) + 1)
                                               : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  uint16_t& at(size_t i, size_t j) { return lengths_[i * columns_ + j]; }

 private:
  size_t columns_;
  std::vector<uint16_t> lengths_;
};

// Adds lessons for a run of tokens that replaced another run.
void Replace(std::span<const CommittedPosition> before, std::span<const TokenId> after,
             std::vector<InstantLesson>* lessons) {
  for (size_t i = 0; i < before.size(); ++i) {
    lessons->push_back(LessonAt(before[i], before[i].token, -1));
    if (i < after.size()) {
      lessons->push_back(LessonAt(before[i], after[i], 1));
    }
  }
}

// Aligns the part between the common beginning and the common end.
void AlignMiddle(std::span<const CommittedPosition> before, std::span<const TokenId> after,
                 std::vector<InstantLesson>* lessons) {
  if ((before.size() + 1) * (after.size() + 1) > limits::kMaxAlignmentCells) {
    Replace(before, after, lessons);
    return;
  }
  SuffixTable table(before, after);
  size_t i = 0;
  size_t j = 0;
  size_t run_i = 0;  // where the current difference began
  size_t run_j = 0;
  while (i < before.size() && j < after.size()) {
    if (before[i].token == after[j]) {
      Replace(before.subspan(run_i, i - run_i), after.subspan(run_j, j - run_j), lessons);
      lessons->push_back(LessonAt(before[i], after[j], 1));
      run_i = ++i;
      run_j = ++j;
    } else if (table.at(i + 1, j) >= table.at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  Replace(before.subspan(run_i), after.subspan(run_j), lessons);
}

}  // namespace

std::vector<InstantLesson> LessonsOfReward(std::span<const CommittedPosition> committed,
                                           float reward) {
  std::vector<InstantLesson> lessons;
  if (!(reward >= kTeachingReward) && !(reward <= kRejectingReward)) {
    return lessons;
  }
  constexpr float kIndifferent = 0.5F;
  const float weight = std::clamp(2 * (reward - kIndifferent), -1.0F, 1.0F);
  lessons.reserve(committed.size());
  for (const CommittedPosition& position : committed) {
    lessons.push_back(LessonAt(position, position.token, weight));
  }
  return lessons;
}

std::vector<InstantLesson> LessonsOfEdit(std::span<const CommittedPosition> committed,
                                         std::span<const TokenId> edited) {
  std::vector<InstantLesson> lessons;
  lessons.reserve(2 * committed.size());
  const size_t shorter = std::min(committed.size(), edited.size());
  size_t begin = 0;
  while (begin < shorter && committed[begin].token == edited[begin]) {
    lessons.push_back(LessonAt(committed[begin], edited[begin], 1));
    ++begin;
  }
  size_t end = 0;  // number of tokens in the common end
  while (begin + end < shorter &&
         committed[committed.size() - 1 - end].token == edited[edited.size() - 1 - end]) {
    ++end;
  }
  AlignMiddle(committed.subspan(begin, committed.size() - begin - end),
              edited.subspan(begin, edited.size() - begin - end), &lessons);
  for (const CommittedPosition& position : committed.last(end)) {
    lessons.push_back(LessonAt(position, position.token, 1));
  }
  return lessons;
}

}  // namespace ruvd::inference
