// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/runtime/system_state.h"

#include <algorithm>

#include "base/status.h"
#include "node/runtime/cell.h"

namespace ruvd::runtime::actor_internal {

thread_local const SystemState* SystemState::current_ = nullptr;

void SystemState::Release(size_t units) {
  if (units > 0 && work_.fetch_sub(units) == units && draining_.load()) {
    BeginStopping();
  }
}

uint64_t SystemState::NextSeed() {
  MutexLock lock(mutex_);
  return random_.Next();
}

bool SystemState::Add(std::shared_ptr<Cell> cell) {
  MutexLock lock(mutex_);
  if (draining_.load()) {
    return false;
  }
  cells_.push_back(std::move(cell));
  return true;
}

void SystemState::Forget(const Cell& cell) {
  std::shared_ptr<Cell> last;  // may be the last reference, so it is destroyed without the lock
  MutexLock lock(mutex_);
  auto it = std::ranges::find(cells_, &cell, &std::shared_ptr<Cell>::get);
  if (it != cells_.end()) {
    last = std::move(*it);
    cells_.erase(it);
  }
}

std::vector<std::shared_ptr<Cell>> SystemState::Cells() const {
  MutexLock lock(mutex_);
  return cells_;
}

void SystemState::Drain(TimePoint deadline, std::function<void(DrainReport)> done) {
  {
    MutexLock lock(mutex_);
    RUVD_CHECK(!draining_.load());
    drained_ = std::move(done);
    draining_.store(true);
  }
  TimerHandle timer =
      executor_.PostAt(deadline, [self = shared_from_this()] { self->FinishDrain(); });
  {
    MutexLock lock(mutex_);
    drain_timer_ = timer;
  }
  if (work_.load() == 0) {
    BeginStopping();
  }
}

// All accepted work is done. Actors stop one after another, the youngest first, so that each can
// still send its last results to the older ones it depends on.
void SystemState::BeginStopping() {
  if (!stopping_.exchange(true)) {
    executor_.Post([self = shared_from_this()] { self->StopNext(); }, Priority::kControl);
  }
}

void SystemState::StopNext() {
  std::shared_ptr<Cell> youngest;
  {
    MutexLock lock(mutex_);
    if (!cells_.empty()) {
      youngest = cells_.back();
    }
  }
  if (youngest == nullptr) {
    FinishDrain();
    return;
  }
  youngest->StopWhenEmpty([self = shared_from_this()] {
    self->executor_.Post([self] { self->StopNext(); }, Priority::kControl);
  });
}

void SystemState::FinishDrain() {
  std::function<void(DrainReport)> done;
  {
    MutexLock lock(mutex_);
    done = std::exchange(drained_, nullptr);
    drain_timer_.Cancel();
  }
  if (!done) {
    return;  // the deadline and the last stop came at the same time
  }
  DrainReport report;
  for (const std::shared_ptr<Cell>& cell : Cells()) {
    report.unfinished.push_back(cell->name());
  }
  report.messages_lost = Abort();
  report.complete = report.unfinished.empty();
  done(std::move(report));
}

size_t SystemState::Abort() {
  size_t lost = 0;
  std::vector<std::shared_ptr<Cell>> cells = Cells();
  for (auto it = cells.rbegin(); it != cells.rend(); ++it) {
    lost += (*it)->StopNow();
  }
  return lost;
}

}  // namespace ruvd::runtime::actor_internal
