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

int64_t MonotonicMillis(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock.Now().time_since_epoch())
      .count();
}

}  // namespace

int64_t ClusterClock::WallMillis() const {
  const MutexLock lock(mutex_);
  return own_.WallMillis() + Correction();
}

void ClusterClock::Heard(const privacy::NodeId& neighbour, int64_t wall_ms) {
  if (wall_ms <= 0 || wall_ms > kLastMillis) {
    return;  // no clock shows that
  }
  const MutexLock lock(mutex_);
  const TimePoint now = own_.Now();
  std::erase_if(samples_, [&](const auto& sample) {
    return now - sample.second.heard > limits::kClockSampleLife;
  });
  if (samples_.size() >= limits::kMaxClockSamples && !samples_.contains(neighbour)) {
    samples_.erase(std::ranges::min_element(
        samples_, {}, [](const auto& sample) { return sample.second.heard; }));
  }
  samples_[neighbour] = {.ahead_ms = wall_ms - MonotonicMillis(own_), .heard = now};
}

bool ClusterClock::IsSettled() const {
  const MutexLock lock(mutex_);
  return samples_.size() >= limits::kLeastClockSamples ||
         own_.Now() - started_ >= limits::kClockSettles;
}

absl::Status ClusterClock::Check() const {
  const MutexLock lock(mutex_);
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
  if (samples_.size() < limits::kLeastClockSamples) {
    return 0;
  }
  const TimePoint now = own_.Now();
  const int64_t own_ahead_ms = own_.WallMillis() - MonotonicMillis(own_);
  if (computed_ && now - *computed_ < kRecompute &&
      std::abs(own_ahead_ms - own_ahead_ms_) < kStepMillis) {
    return correction_ms_;
  }
  computed_ = now;
  own_ahead_ms_ = own_ahead_ms;
  std::vector<int64_t> beside;  // how far the neighbours' clocks are ahead of the own one
  beside.reserve(samples_.size());
  for (const auto& [neighbour, sample] : samples_) {
    if (now - sample.heard <= limits::kClockSampleLife) {
      beside.push_back(sample.ahead_ms - own_ahead_ms);
    }
  }
  correction_ms_ = 0;
  if (beside.size() < limits::kLeastClockSamples) {
    return 0;
  }
  // Both middles agree only if more than half of the neighbours do.
  std::ranges::sort(beside);
  const int64_t low = beside[(beside.size() - 1) / 2];
  const int64_t high = beside[beside.size() / 2];
  if (low > limits::kMaxClockBesideMillis || high < -limits::kMaxClockBesideMillis) {
    correction_ms_ = low > 0 ? low : high;
  }
  return correction_ms_;
}

}  // namespace ruvd::federation
