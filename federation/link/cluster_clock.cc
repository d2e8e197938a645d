// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/cluster_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

// A correction is computed again after this much time, and at once when the own clock steps.
constexpr std::chrono::seconds kRecompute(1);
constexpr int64_t kStepMillis = 500;
constexpr int64_t kLastMillis = 253'402'300'800'000;  // the year 10000

}  // namespace

int64_t ClusterClock::WallMillis() const {
  return own_.WallMillis() + Correction();
}

void ClusterClock::Heard(const privacy::NodeId& neighbour, int64_t wall_ms) {
  if (wall_ms <= 0 || wall_ms > kLastMillis) {
    return;  // no clock shows that
  }
  const TimePoint now = own_.Now();
  std::erase_if(samples_, [&](const auto& sample) {
    return now - sample.second.heard > limits::kClockSampleLife;
  });
  if (samples_.size() >= limits::kMaxClockSamples && !samples_.contains(neighbour)) {
    samples_.erase(std::ranges::min_element(
        samples_, {}, [](const auto& sample) { return sample.second.heard; }));
  }
  computed_.reset();
  samples_[neighbour] = {.ahead_ms = wall_ms - SinceBootMillis(), .heard = now};
}

bool ClusterClock::IsSettled() const {
  Correction();
  return own_.Now() - changed_ >= limits::kClockSettles;
}

int64_t ClusterClock::SinceBootMillis() const {
  const TimePoint time = since_boot_ ? since_boot_() : own_.Now();
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

absl::Status ClusterClock::Check() const {
  const int64_t correction = Correction();
  if (correction == 0) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kClockWrong,
               "this node's clock is {} s {} the clocks of most neighbours, and it federates by "
               "theirs; set the clock right, or look at theirs",
               std::abs(correction) / 1000, correction > 0 ? "behind" : "ahead of");
}

int64_t ClusterClock::Correction() const {
  const TimePoint now = own_.Now();
  const int64_t own_ahead_ms = own_.WallMillis() - SinceBootMillis();
  if (computed_ && now - *computed_ < kRecompute &&
      std::abs(own_ahead_ms - own_ahead_ms_) < kStepMillis) {
    return correction_ms_;
  }
  computed_ = now;
  own_ahead_ms_ = own_ahead_ms;
  const int64_t correction_ms = Compute(own_ahead_ms);
  if (std::abs(correction_ms - correction_ms_) > limits::kMaxClockBesideMillis / 2) {
    changed_ = now;
  }
  correction_ms_ = correction_ms;
  return correction_ms_;
}

int64_t ClusterClock::Compute(int64_t own_ahead_ms) const {
  std::vector<int64_t> beside;  // how far the neighbours' clocks are ahead of the own one
  beside.reserve(samples_.size());
  for (const auto& [neighbour, sample] : samples_) {
    if (own_.Now() - sample.heard <= limits::kClockSampleLife) {
      beside.push_back(sample.ahead_ms - own_ahead_ms);
    }
  }
  if (beside.size() < limits::kLeastClockSamples) {
    return 0;
  }
  // Both middles agree only if more than half of the neighbours do.
  std::ranges::sort(beside);
  const int64_t low = beside[(beside.size() - 1) / 2];
  const int64_t high = beside[beside.size() / 2];
  // A clock at the limit must not jump to and fro.
  const int64_t limit_ms =
      correction_ms_ == 0 ? limits::kMaxClockBesideMillis : limits::kMaxClockBesideMillis / 2;
  return low > limit_ms ? low : high < -limit_ms ? high : 0;
}

}  // namespace ruvd::federation
