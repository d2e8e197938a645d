// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_queue.h"

#include <algorithm>
#include <utility>

namespace ruvd::storage {

bool WitnessQueue::Push(WitnessEntry&& entry, TimePoint now) {
  if (waiting_.size() >= options_.capacity) {
    ++refused_;
    return false;
  }
  waiting_.push_back({std::move(entry), now});
  ++accepted_;
  return true;
}

bool WitnessQueue::Due(TimePoint now) const {
  const std::optional<TimePoint> due = NextDue();
  return due.has_value() && *due <= now;
}

std::optional<TimePoint> WitnessQueue::NextDue() const {
  if (waiting_.empty()) {
    return std::nullopt;
  }
  return waiting_.size() >= options_.batch ? waiting_.front().since
                                           : waiting_.front().since + options_.max_wait;
}

std::vector<WitnessEntry> WitnessQueue::Take() {
  std::vector<WitnessEntry> batch;
  const size_t count = std::min(options_.batch, waiting_.size());
  batch.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(std::move(waiting_.front().entry));
    waiting_.pop_front();
  }
  return batch;
}

void WitnessQueue::PutBack(std::vector<WitnessEntry> batch) {
  for (size_t i = batch.size(); i-- > 0;) {
    waiting_.push_front({std::move(batch[i]), TimePoint::min()});
  }
}

size_t WitnessQueue::ForgetUser(std::string_view user_id) {
  size_t forgotten = 0;
  for (Waiting& waiting : waiting_) {
    if (waiting.entry.user_id == user_id) {
      waiting.entry.user_id.clear();
      waiting.entry.query_embedding.clear();
      waiting.entry.response_embedding.clear();
      ++forgotten;
    }
  }
  return forgotten;
}

WitnessEntry* WitnessQueue::Find(std::string_view request_id) {
  return const_cast<WitnessEntry*>(std::as_const(*this).Find(request_id));
}

const WitnessEntry* WitnessQueue::Find(std::string_view request_id) const {
  for (const Waiting& waiting : waiting_) {
    if (waiting.entry.request_id == request_id) {
      return &waiting.entry;
    }
  }
  return nullptr;
}

}  // namespace ruvd::storage
