// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/limit_use.h"
#include "base/mutex.h"
#include "federation/core/gossip_core.h"
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
    uint64_t payload_bytes_sent = 0;  // to peers, since the start
    std::vector<LimitUse> limits;     // that hold peers
  };
  void Set(std::map<storage::PatternStanding, size_t> standings,
           std::map<std::string, uint64_t> refused) {
    const MutexLock lock(mutex_);
    counts_.standings = std::move(standings);
    counts_.refused = std::move(refused);
  }
  // Takes over what the federation's core counts, and the limits of peers' patterns beside its own.
  void SetFederation(const federation::GossipCore& core, const std::vector<LimitUse>& of_patterns) {
    std::vector<LimitUse> limits = core.Limits();
    limits.insert(limits.end(), of_patterns.begin(), of_patterns.end());
    const MutexLock lock(mutex_);
    counts_.refused_messages = core.counters().refused;
    counts_.payload_bytes_sent = core.counters().payload_bytes_sent;
    counts_.limits = std::move(limits);
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
