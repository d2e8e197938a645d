// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This file holds how a cell fails, restarts, stops and keeps its timers; cell.cc holds how it
// works.

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/runtime/cell.h"
#include "node/runtime/limits.h"

namespace ruvd::runtime::actor_internal {

void Cell::Fail(const absl::Status& status, Work work) {
  const bool starting = std::holds_alternative<StartWork>(work);
  const bool stopping = std::holds_alternative<StopWork>(work);
  ActorFailure failure{.actor = name(), .status = status};
  bool restart = false;
  Duration wait{};
  DiscardedState remains;
  bool hopeless = false;
  std::vector<QueuedMessage> unheard;
  {
    MutexLock lock(mutex_);
    failure.failures_in_window = RecordFailure(status);
    failure.failing = IsFailing();
    wait = backoff_.Next(random_);
    // A drain does not wait for an actor that fails.
    restart = state_ == ActorState::kRunning && !stopping && !(stop_when_empty_ && failure.failing);
    if (restart) {
      state_ = ActorState::kRestarting;
      remains = EndLife();
      remains.actor = std::move(actor_);
    }
    // Senders hear now that the actor does not start, or that a drain does not wait for it.
    hopeless = failure.failing && (starting || system_->draining());
    if (hopeless) {
      unheard = mailbox_.TakeAll();
    }
  }
  DestroyDiscarded(std::move(remains));
  DisposeFailed(std::move(work), hopeless);
  for (QueuedMessage& message : unheard) {
    RecordDeadLetter(std::move(message), DeadLetterReason::kFailing);
  }
  if (restart) {
    executor_.PostAt(executor_.clock().Now() + wait, [weak = weak_from_this()] {
      if (auto self = weak.lock()) {
        self->Restart();
      }
    });
  } else {
    Terminate();
  }
  if (const auto& hook = system_->options().on_failure) {
    hook(failure);
  }
}

// Puts a message back at the head of its queue, unless it seems to be the cause of the failures, or
// the actor is not waited for.
void Cell::DisposeFailed(Work work, bool hopeless) {
  if (std::holds_alternative<Event>(work)) {
    work = StartWork();
    system_->Release();
  }
  auto* envelope = std::get_if<QueuedMessage>(&work);
  if (envelope == nullptr) {
    return;
  }
  const bool poison = ++envelope->crashes >= options_.supervision.poison_crashes;
  {
    MutexLock lock(mutex_);
    if (!poison && !hopeless && state_ != ActorState::kStopped) {
      mailbox_.Return(std::move(*envelope));
      return;
    }
  }
  RecordDeadLetter(std::move(*envelope), poison     ? DeadLetterReason::kPoison
                                         : hopeless ? DeadLetterReason::kFailing
                                                    : DeadLetterReason::kStopped);
}

int Cell::RecordFailure(const absl::Status& status) {
  const TimePoint now = executor_.clock().Now();
  failing_ = IsFailing();
  while (!failures_in_window_.empty() &&
         failures_in_window_.front() + options_.supervision.window < now) {
    failures_in_window_.pop_front();
  }
  if (failures_in_window_.empty()) {
    backoff_.Reset();
  }
  failures_in_window_.push_back(now);
  ++failures_;
  last_failure_ = status;
  const int failures = static_cast<int>(failures_in_window_.size());
  failing_ = failing_ || failures > options_.supervision.max_restarts;
  return failures;
}

bool Cell::IsFailing() const {
  if (!failing_) {
    return false;
  }
  const TimePoint trusted = failures_in_window_.back() + options_.supervision.window;
  return state_ != ActorState::kRunning || !started_ || executor_.clock().Now() < trusted;
}

void Cell::Restart() {
  bool post = false;
  {
    MutexLock lock(mutex_);
    if (state_ != ActorState::kRestarting) {
      return;
    }
    state_ = ActorState::kRunning;
    post = Schedule();
  }
  if (post) {
    PostTurn(Priority::kControl);
  }
}

Cell::DiscardedState Cell::EndLife() {
  ++life_;
  started_ = false;
  reserved_ = 0;
  return {.events = std::exchange(events_, {}), .timers = std::exchange(timers_, {})};
}

void Cell::DestroyDiscarded(DiscardedState remains) {
  for (auto& [id, timer] : remains.timers) {
    timer.handle.Cancel();
  }
  const size_t events = remains.events.size();
  remains = {};
  system_->Release(events);
}

size_t Cell::Terminate() {
  DiscardedState remains;
  std::vector<QueuedMessage> lost;
  std::vector<std::function<void()>> when_stopped;
  {
    MutexLock lock(mutex_);
    if (state_ == ActorState::kStopped) {
      return 0;
    }
    state_ = ActorState::kStopped;
    remains = EndLife();
    if (!running_) {
      remains.actor = std::move(actor_);  // otherwise the turn destroys it when it ends
    }
    lost = mailbox_.TakeAll();
    when_stopped = std::exchange(when_stopped_, {});
  }
  DestroyDiscarded(std::move(remains));
  const size_t count = lost.size();
  for (QueuedMessage& envelope : lost) {
    RecordDeadLetter(std::move(envelope), DeadLetterReason::kStopped);
  }
  system_->Forget(*this);
  for (const auto& stopped : when_stopped) {
    stopped();
  }
  return count;
}

void Cell::StopWhenEmpty(const std::function<void()>& stopped) {
  bool post = false;
  bool at_once = false;
  bool already = false;
  {
    MutexLock lock(mutex_);
    already = state_ == ActorState::kStopped;
    if (!already) {
      when_stopped_.push_back(stopped);
      stop_when_empty_ = true;
      // An actor that waits for its restart and has no messages need not be built again, nor one
      // that fails.
      at_once = state_ == ActorState::kRestarting && (mailbox_.size() == 0 || IsFailing());
      closed_ = closed_ || at_once;
      post = Schedule();
    }
  }
  if (already) {
    stopped();
  } else if (at_once) {
    Terminate();
  } else if (post) {
    PostTurn(Priority::kNormal);
  }
}

size_t Cell::StopNow() {
  return Terminate();
}

absl::StatusOr<TimerId> Cell::StartTimer(Duration delay, bool periodic, Event event) {
  if (periodic && delay <= Duration::zero()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a periodic timer of {} needs a positive period", name());
  }
  TimerId id = 0;
  uint64_t life = 0;
  {
    MutexLock lock(mutex_);
    if (timers_.size() >= limits::kMaxTimersPerActor) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                   "actor {} already has {} timers; cancel some first", options_.name,
                   timers_.size());
    }
    id = next_timer_++;
    life = life_;
    timers_.emplace(
        id, Timer{.period = periodic ? delay : Duration::zero(), .event = std::move(event)});
  }
  ArmTimer(id, delay, life);
  return id;
}

void Cell::ArmTimer(TimerId id, Duration delay, uint64_t life) {
  TimerHandle handle =
      executor_.PostAt(executor_.clock().Now() + delay, [weak = weak_from_this(), id, life] {
        if (auto self = weak.lock()) {
          self->FireTimer(id, life);
        }
      });
  MutexLock lock(mutex_);
  if (auto it = timers_.find(id); it != timers_.end()) {
    it->second.handle = handle;
  }
}

void Cell::CancelTimer(TimerId id) {
  std::optional<Timer> cancelled;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  if (auto it = timers_.find(id); it != timers_.end()) {
    it->second.handle.Cancel();
    cancelled = std::move(it->second);
    timers_.erase(it);
  }
}

void Cell::FireTimer(TimerId id, uint64_t life) {
  bool post = false;
  {
    MutexLock lock(mutex_);
    if (life != life_ || !timers_.contains(id)) {
      return;
    }
    system_->Hold();
    events_.push_back({[id](Cell& cell) { return cell.RunTimer(id); }, false});
    post = Schedule();
  }
  if (post) {
    PostTurn(Priority::kControl);
  }
}

absl::Status Cell::RunTimer(TimerId id) {
  Event event;
  Duration period{};
  uint64_t life = 0;
  {
    MutexLock lock(mutex_);
    auto it = timers_.find(id);
    if (it == timers_.end()) {
      return absl::OkStatus();  // cancelled while its event was queued
    }
    life = life_;
    period = it->second.period;
    event = std::move(it->second.event);
    if (period == Duration::zero()) {
      timers_.erase(it);
    }
  }
  if (period == Duration::zero()) {
    return event(*this);
  }
  ArmTimer(id, period, life);  // before the event, which may cancel it
  const absl::Status status = event(*this);
  MutexLock lock(mutex_);
  if (auto it = timers_.find(id); it != timers_.end()) {
    it->second.event = std::move(event);
  }
  return status;
}

}  // namespace ruvd::runtime::actor_internal
