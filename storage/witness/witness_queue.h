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
  size_t batch = limits::kWitnessBatch;  // entries in one write; a batch is due when it is full
  Duration max_wait = limits::kMaxWitnessWait;  // the oldest entry is due after this
  size_t capacity = limits::kMaxWitnessQueue;   // further entries are refused
};

// Holds entries between their request and their write: a state machine without clock, lock or disk.
// A full queue refuses the newest entry, so only a crash loses accepted entries; refusals are
// counted. Not thread-safe.
class WitnessQueue {
 public:
  explicit WitnessQueue(const WitnessQueueOptions& options) : options_(options) {}

  // Returns false when the queue is full; the entry is then unchanged.
  bool Push(WitnessEntry&& entry, TimePoint now);

  // Returns whether a batch is full or the oldest entry has waited long enough.
  bool Due(TimePoint now) const;
  // Returns when the next batch is due if no more entries come; nullopt for an empty queue.
  std::optional<TimePoint> NextDue() const;

  // Takes the oldest entries, at most one batch.
  std::vector<WitnessEntry> Take();
  // Returns a batch that could not be written to the front of the queue, where it is due at once.
  // The queue may then hold more than `capacity`: no accepted entry is dropped.
  void PutBack(std::vector<WitnessEntry> batch);

  // Removes the embeddings from a user's entries, so that they have no more data of the user.
  // Returns the number of these entries.
  size_t ForgetUser(std::string_view user_id);

  // Returns the queued entry of a request, or nullptr.
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
