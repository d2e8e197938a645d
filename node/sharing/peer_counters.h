// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "storage/patterns/pattern.h"

namespace ruvd::sharing {

// What the federation actor counts of its peers, for metrics. Thread-safe.
class PeerCounters {
 public:
  struct Counts {
    std::map<storage::PatternStanding, size_t> standings;  // patterns that have each
    std::map<std::string, uint64_t> refused;               // since the start, by error reason
    // Frames, items and links since the start, by error reason (GossipCounters::refused)
    std::map<std::string, uint64_t> refused_messages;
  };
  void Set(std::map<storage::PatternStanding, size_t> standings,
           std::map<std::string, uint64_t> refused) {
    const MutexLock lock(mutex_);
    counts_.standings = std::move(standings);
    counts_.refused = std::move(refused);
  }
  void SetRefusedMessages(std::map<std::string, uint64_t> refused) {
    const MutexLock lock(mutex_);
    counts_.refused_messages = std::move(refused);
  }
  Counts Get() const {
    const MutexLock lock(mutex_);
    return counts_;
  }

 private:
  mutable Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::sharing
