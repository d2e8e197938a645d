// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "storage/limits.h"
#include "storage/witness/witness_entry.h"

namespace ruvd::storage {

struct WitnessQueueOptions {
  size_t batch = limits::kWitnessBatch;         // entries of one write; so many are due at once
  Duration max_wait = limits::kMaxWitnessWait;  // the oldest entry is due after this
  size_t capacity = limits::kMaxWitnessQueue;   // more are refused
};

// Entries between their request and their write: a state machine without clock, lock or disk. A
// full queue refuses the newest entry, so that what it accepted is lost by a crash only; refusals
// are counted. Not thread-safe.
class WitnessQueue {
 public:
  explicit WitnessQueue(const WitnessQueueOptions& options) : options_(options) {}

  // False where the queue is full; the entry is then left as it was.
  bool Push(WitnessEntry&& entry, TimePoint now);

  // Whether a batch is full or the oldest entry has waited long enough.
  bool Due(TimePoint now) const;
  // When FlushDue has something to do unless more comes; nullopt for an empty queue.
  std::optional<TimePoint> NextDue() const;

  // The oldest entries, at most one batch.
  std::vector<WitnessEntry> Take();
  // Returns a batch that could not be written to the front of the queue, due at once. It may then
  // hold more than `capacity`: nothing accepted is dropped.
  void PutBack(std::vector<WitnessEntry> batch);

  // Takes the embeddings out of a user's entries, so that nothing of them is the user's any more;
  // says of how many.
  size_t ForgetUser(std::string_view user_id);

  // The queued entry of a request, nullptr where there is none.
  const WitnessEntry* Find(std::string_view request_id) const;
  WitnessEntry* Find(std::string_view request_id);

  size_t size() const { return waiting_.size(); }
  uint64_t accepted() const { return accepted_; }
  uint64_t refused() const { return refused_; }

 private:
  struct Waiting {
    WitnessEntry entry;
    TimePoint since;
  };
  const WitnessQueueOptions options_;
  std::deque<Waiting> waiting_;
  uint64_t accepted_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace ruvd::storage
