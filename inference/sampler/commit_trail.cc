// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/commit_trail.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "inference/sampler/limits.h"

namespace ruvd::inference {

void CommitTrail::Reserve(size_t positions) {
  entry_of_.reserve(positions);
  entries_.reserve(positions);
  hidden_.reserve(positions * width_);
  candidates_.reserve(positions * limits::kMaxCandidates);
}

void CommitTrail::Add(int position, TokenId token, float probability, std::span<const float> hidden,
                      std::span<const TokenProbability> candidates) {
  RUVD_CHECK(position >= 0 && hidden.size() == width_);
  const auto at = static_cast<size_t>(position);
  if (entry_of_.size() <= at) {
    entry_of_.resize(at + 1, -1);
  }
  if (entry_of_[at] < 0) {
    entry_of_[at] = static_cast<int32_t>(entries_.size());
    entries_.emplace_back();
    hidden_.resize(entries_.size() * width_);
    candidates_.resize(entries_.size() * limits::kMaxCandidates);
  }
  const auto index = static_cast<size_t>(entry_of_[at]);
  const size_t kept = std::min(candidates.size(), limits::kMaxCandidates);
  entries_[index] = {.position = position,
                     .token = token,
                     .probability = probability,
                     .candidates = static_cast<uint32_t>(kept)};
  std::copy(hidden.begin(), hidden.end(), hidden_.data() + index * width_);
  std::copy_n(candidates.begin(), kept, candidates_.data() + index * limits::kMaxCandidates);
}

void CommitTrail::Truncate(int end) {
  const auto kept = static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [end](const Entry& entry) { return entry.position < end; }));
  if (kept == entries_.size()) {
    return;
  }
  CommitTrail shorter(static_cast<int>(width_));
  shorter.Reserve(kept);
  for (const CommittedPosition& position : Positions()) {
    if (position.position < end) {
      shorter.Add(position.position, position.token, position.probability, position.hidden,
                  position.candidates);
    }
  }
  *this = std::move(shorter);
}

std::vector<CommittedPosition> CommitTrail::Positions() const {
  std::vector<CommittedPosition> positions;
  positions.reserve(entries_.size());
  for (const int32_t place : entry_of_) {
    if (place < 0) {
      continue;
    }
    const auto index = static_cast<size_t>(place);
    const Entry& entry = entries_[index];
    positions.push_back(
        {.position = entry.position,
         .token = entry.token,
         .probability = entry.probability,
         .hidden = std::span(hidden_).subspan(index * width_, width_),
         .candidates =
             std::span(candidates_).subspan(index * limits::kMaxCandidates, entry.candidates)});
  }
  return positions;
}

size_t CommitTrail::bytes() const {
  return sizeof(*this) + entry_of_.capacity() * sizeof(int32_t) +
         entries_.capacity() * sizeof(Entry) + hidden_.capacity() * sizeof(float) +
         candidates_.capacity() * sizeof(TokenProbability);
}

}  // namespace ruvd::inference
