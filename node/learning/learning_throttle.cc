// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/learning_throttle.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::learning {
namespace {

// Time between two checks of the serving latency.
constexpr Duration kLook = std::chrono::milliseconds(20);
// Idle sessions give memory back; training that does not fit by then would wait for ever.
constexpr Duration kMemoryPatience = std::chrono::minutes(1);

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

LearningThrottle::ScopedLearning::ScopedLearning(LearningThrottle& throttle) : throttle_(throttle) {
  throttle_.TakeTurn();
}

LearningThrottle::ScopedLearning::~ScopedLearning() {
  throttle_.GiveTurn();
}

// Turns go in the order of asking, so that no loop waits longer than the others' slices.
void LearningThrottle::TakeTurn() {
  const MutexLock lock(mutex_);
  const uint64_t ticket = last_ticket_++;
  while (turns_ended_ != ticket) {
    turns_.Wait(mutex_);
  }
  working_ = true;
}

void LearningThrottle::GiveTurn() {
  const MutexLock lock(mutex_);
  RUVD_CHECK(working_);  // only the loop with the turn may end it
  worked_until_ = options_.clock->Now();
  working_ = false;
  ++turns_ended_;
  turns_.NotifyAll();
}

void LearningThrottle::RoundEnded(storage::LearningLoop loop) {
  const MutexLock lock(mutex_);
  (loop == storage::LearningLoop::kDeep ? deep_bytes_ : background_bytes_) = 0;
}

void LearningThrottle::WaitBriefly() {
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
  // A step during which learning ended was slowed down, too.
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

bool LearningThrottle::IsServingSlowed() {
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

bool LearningThrottle::OverBudget(storage::LearningLoop loop) const {
  const uint64_t sessions = options_.session_bytes ? options_.session_bytes() : 0;
  const MutexLock lock(mutex_);
  const uint64_t training =
      deep_bytes_ + (loop == storage::LearningLoop::kDeep ? 0 : background_bytes_);
  return training + sessions > options_.memory_bytes;
}

bool LearningThrottle::FitsWithoutDeep() const {
  const uint64_t sessions = options_.session_bytes ? options_.session_bytes() : 0;
  const MutexLock lock(mutex_);
  return background_bytes_ + sessions <= options_.memory_bytes;
}

absl::Status LearningThrottle::Wait(storage::LearningLoop loop, uint64_t bytes,
                                    const std::function<bool()>& cancelled) {
  const TimePoint begun = options_.clock->Now();
  const auto suffers = [&] {
    const MutexLock lock(mutex_);
    return IsServingSlowed();
  };
  {
    const MutexLock lock(mutex_);
    (loop == storage::LearningLoop::kDeep ? deep_bytes_ : background_bytes_) = bytes;
  }
  GiveTurn();
  absl::Status status;
  bool waited = false;
  for (;;) {
    const bool over = OverBudget(loop);
    if (!over && !suffers()) {
      break;
    }
    if (cancelled && cancelled()) {
      status = Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                     "learning stopped while it waited for serving; it continues later");
      break;
    }
    if (over && loop == storage::LearningLoop::kBackground && FitsWithoutDeep()) {
      status = Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                     "a deep round holds the rest of learning.memory_bytes; this is learned after "
                     "it");
      break;
    }
    if (over && options_.clock->Now() - begun > kMemoryPatience) {
      status =
          Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                "training holds {} bytes, which together with the session memories stays above "
                "learning.memory_bytes ({}); raise it, or serve a smaller model",
                bytes, options_.memory_bytes);
      break;
    }
    waited = true;
    WaitBriefly();
  }
  if (waited && status.ok()) {
    const MutexLock lock(mutex_);
    paused_seconds_ += Seconds(options_.clock->Now() - begun);
    ++pauses_;
  }
  TakeTurn();
  return status;
}

LearningThrottleStatus LearningThrottle::status() const {
  const MutexLock lock(mutex_);
  return {.p99_learning = beside_.size() < options_.least_steps ? 0 : Percentile99(beside_),
          .p99_without = without_.size() < options_.least_steps ? 0 : Percentile99(without_),
          .paused_seconds = paused_seconds_,
          .pauses = pauses_,
          .memory_bytes = background_bytes_ + deep_bytes_,
          .budget_bytes = options_.memory_bytes};
}

}  // namespace ruvd::learning
