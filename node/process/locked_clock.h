// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/mutex.h"
#include "federation/link/cluster_clock.h"

namespace ruvd::node {

// The clock of the cluster for all threads of a node: the federation actor's, which hears the
// neighbours, and those that only look at it. Thread-safe.
class LockedClock final : public federation::ClusterClock {
 public:
  using ClusterClock::ClusterClock;

  int64_t WallMillis() const override {
    const MutexLock lock(mutex_);
    return ClusterClock::WallMillis();
  }
  void Heard(const privacy::NodeId& neighbour, int64_t wall_ms) override {
    const MutexLock lock(mutex_);
    ClusterClock::Heard(neighbour, wall_ms);
  }
  bool IsSettled() const override {
    const MutexLock lock(mutex_);
    return ClusterClock::IsSettled();
  }
  absl::Status Check() const override {
    const MutexLock lock(mutex_);
    return ClusterClock::Check();
  }

 private:
  mutable Mutex mutex_;
};

}  // namespace ruvd::node
