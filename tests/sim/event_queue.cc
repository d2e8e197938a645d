// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/event_queue.h"

#include <algorithm>
#include <functional>

namespace ruvd::test {

void EventQueue::At(TimePoint at, Run run) {
  uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back(std::move(run));
  } else {
    slot = free_.back();
    free_.pop_back();
    slots_[slot] = std::move(run);
  }
  heap_.push_back({.at = std::max(at, now_), .order = next_order_++, .slot = slot});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

bool EventQueue::RunNext(TimePoint end) {
  if (heap_.empty() || heap_.front().at > end) {
    now_ = std::max(now_, end);
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const Entry entry = heap_.back();
  heap_.pop_back();
  now_ = entry.at;
  Run run = std::move(slots_[entry.slot]);  // the event may add events, which moves the slots
  slots_[entry.slot] = nullptr;
  free_.push_back(entry.slot);
  ++events_;
  run();
  return true;
}

}  // namespace ruvd::test
