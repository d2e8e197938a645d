// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "base/clock.h"
#include "base/status.h"

namespace ruvd::test {

// Simulated time and the events in it. Events of the same time run in the order in which they were
// added, so that nothing but the seed decides. Not thread-safe.
class EventQueue {
 public:
  using Run = absl::AnyInvocable<void()>;

  TimePoint now() const { return now_; }
  // Times in the past count as the current time.
  void At(TimePoint at, Run run);
  void After(Duration after, Run run) { At(now_ + after, std::move(run)); }
  // Runs the next event that is due by `end`. Returns false, with the time at `end`, if there is no
  // such event.
  bool RunNext(TimePoint end);
  // Returns the number of events that ran.
  uint64_t events() const { return events_; }

 private:
  // The heap holds plain values and `slots_` holds the functions, so sifting moves 24 bytes.
  struct Entry {
    TimePoint at;
    uint64_t order;
    uint32_t slot;
    bool operator>(const Entry& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  TimePoint now_{};
  uint64_t next_order_ = 0;
  uint64_t events_ = 0;
  std::vector<Entry> heap_;
  std::vector<Run> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace ruvd::test
