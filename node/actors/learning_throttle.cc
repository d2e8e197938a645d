// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/learning_throttle.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

// Between two looks at what serving says by now.
constexpr Duration kLook = std::chrono::milliseconds(20);
// Sessions give memory back while they are idle; training that does not fit would wait for ever.
constexpr Duration kMemoryPatience = std::chrono::minutes(1);

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

LearningThrottle::Working::Working(LearningThrottle& throttle) : throttle_(throttle) {
  throttle_.SetWorking(true);
}

LearningThrottle::Working::~Working() {
  throttle_.SetWorking(false);
}

void LearningThrottle::SetWorking(bool working) {
  const MutexLock lock(mutex_);
  if (working_ && !working) {
    worked_until_ = options_.clock->Now();
    bytes_ = 0;
  }
  working_ = working;
}

void LearningThrottle::WaitAMoment() {
  if (options_.wait) {
    options_.wait(kLook);
    return;
  }
  const MutexLock lock(mutex_);
  moment_.WaitUntil(mutex_, options_.clock->Now() + kLook);
}

void LearningThrottle::StepEnded(double seconds) {
  const TimePoint now = options_.clock->Now();
  const MutexLock lock(mutex_);
  // A step that learning ended in the middle of was slowed down, too.
  const bool beside = working_ || Seconds(now - worked_until_) < seconds;
  Steps& steps = beside ? beside_ : without_;
  steps.push_back({.ended = now, .seconds = seconds});
  if (steps.size() > limits::kMaxLatencies) {
    steps.pop_front();
  }
}

double LearningThrottle::Percentile99(const Steps& steps) {
  constexpr double kShare = 0.99;
  std::vector<double> seconds;
  seconds.reserve(steps.size());
  for (const Step& step : steps) {
    seconds.push_back(step.seconds);
  }
  const auto rank = static_cast<ptrdiff_t>(kShare * static_cast<double>(seconds.size()));
  const auto place = seconds.begin() + std::min<ptrdiff_t>(rank, std::ssize(seconds) - 1);
  std::nth_element(seconds.begin(), place, seconds.end());
  return *place;
}

bool LearningThrottle::ServingSuffers() {
  const TimePoint now = options_.clock->Now();
  while (!beside_.empty() && now - beside_.front().ended > options_.window) {
    beside_.pop_front();
  }
  if (beside_.size() < options_.least_steps) {
    return false;
  }
  return without_.size() < options_.least_steps ||  // then a pause measures them
         Percentile99(beside_) > (1 + options_.slow_down) * Percentile99(without_);
}

bool LearningThrottle::OverBudget(uint64_t bytes) const {
  const uint64_t sessions = options_.session_bytes ? options_.session_bytes() : 0;
  return bytes + sessions > options_.memory_bytes;
}

absl::Status LearningThrottle::Wait(uint64_t bytes, const std::function<bool()>& cancelled) {
  const TimePoint begun = options_.clock->Now();
  bool waited = false;
  const auto suffers = [&] {
    const MutexLock lock(mutex_);
    bytes_ = bytes;
    return ServingSuffers();
  };
  for (;;) {
    const bool over = OverBudget(bytes);
    if (!over && !suffers()) {
      break;
    }
    if (cancelled && cancelled()) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "learning stopped while it waited for serving; it goes on when it may");
    }
    const TimePoint now = options_.clock->Now();
    if (over && now - begun > kMemoryPatience) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                   "training holds {} bytes, and with what sessions were taught that stays above "
                   "learning.memory_bytes ({}); raise it or lower learning.layers and rank",
                   bytes, options_.memory_bytes);
    }
    if (!waited) {
      waited = true;
      SetWorking(false);
    }
    WaitAMoment();
  }
  if (waited) {
    SetWorking(true);
    const MutexLock lock(mutex_);
    paused_seconds_ += Seconds(options_.clock->Now() - begun);
    ++pauses_;
  }
  return absl::OkStatus();
}

LearningThrottleStatus LearningThrottle::status() const {
  const MutexLock lock(mutex_);
  return {.p99_learning = beside_.size() < options_.least_steps ? 0 : Percentile99(beside_),
          .p99_without = without_.size() < options_.least_steps ? 0 : Percentile99(without_),
          .paused_seconds = paused_seconds_,
          .pauses = pauses_,
          .memory_bytes = bytes_,
          .budget_bytes = options_.memory_bytes};
}

}  // namespace ruvd
