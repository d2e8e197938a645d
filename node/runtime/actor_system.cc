// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/runtime/actor_system.h"

#include <optional>

#include "base/mutex.h"

namespace ruvd::runtime {

DrainReport ActorSystem::DrainAndWait(TimePoint deadline) {
  struct Shared {
    Mutex mutex;
    CondVar changed;
    std::optional<DrainReport> report;
  };
  auto shared = std::make_shared<Shared>();
  Drain(deadline, [shared](DrainReport report) {
    MutexLock lock(shared->mutex);
    shared->report = std::move(report);
    shared->changed.NotifyAll();
  });
  MutexLock lock(shared->mutex);
  while (!shared->report) {
    shared->changed.Wait(shared->mutex);
  }
  return std::move(*shared->report);
}

std::vector<ActorStats> ActorSystem::Stats() const {
  std::vector<ActorStats> stats;
  for (const auto& cell : state_->Cells()) {
    stats.push_back(cell->Stats());
  }
  return stats;
}

}  // namespace ruvd::runtime
