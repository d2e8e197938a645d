// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "federation/limits.h"

namespace ruvd::federation {

// Decides when the next anti-entropy exchange is due: normally every kReconPeriod times the
// cluster's scale; after a new neighbour or a difference, every kReconPeriodBusy for some
// exchanges, and then the period doubles until it is normal again. Not thread-safe.
class ReconSchedule {
 public:
  // A neighbour joined, a partition healed, or a peer had different items.
  void RunSoon(TimePoint now) {
    busy_ = limits::kReconBusyExchanges;
    period_ = limits::kReconPeriodBusy;
    next_ = std::min(next_, now + limits::kReconPeriodBusy);
  }
  bool busy() const { return busy_ > 0; }
  bool Due(TimePoint now) const { return next_ <= now; }
  // An exchange begins. `scale` is ClusterScale.
  void Begun(int scale, TimePoint now, Random& random) {
    if (busy_ > 0) {
      --busy_;
    } else {
      period_ = std::min<Duration>(2 * period_, limits::kReconPeriod * scale);
    }
    // A tenth of jitter prevents that nodes which started together keep asking at the same time.
    next_ =
        now + period_ +
        Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(period_.count()) / 10)));
  }
  // There was no peer to ask: tries again soon.
  void Retry(TimePoint now) { next_ = now + limits::kReconPeriodBusy; }

 private:
  int busy_ = 0;
  Duration period_ = limits::kReconPeriodBusy;
  TimePoint next_{};
};

}  // namespace ruvd::federation
