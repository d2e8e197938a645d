// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/runtime/cell.h"

#include <exception>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/runtime/limits.h"
#include "node/runtime/reasons.h"

namespace ruvd::runtime::actor_internal {
namespace {

// FNV-1a, because the trace must be the same with every standard library.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

// Calls `function` and turns an exception into an error; no exception passes this point.
template <typename Function>
absl::Status Guarded(const std::string& name, Function&& function) {
  std::string what;
  try {
    return function();
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "not a std::exception";
  }
  return Error(absl::StatusCode::kInternal, reasons::kInternal, "exception in actor {}: {}", name,
               what);
}

}  // namespace

Cell::Cell(CellOptions options, std::shared_ptr<SystemState> system, Executor& executor,
           Factory factory)
    : options_(std::move(options)),
      system_(std::move(system)),
      executor_(executor),
      factory_(std::move(factory)),
      name_hash_(HashName(options_.name)),
      random_(system_->NextSeed()),
      mailbox_(options_.mailbox),
      backoff_(options_.supervision.backoff) {}

void Cell::Start() {
  bool post = false;
  {
    MutexLock lock(mutex_);
    post = Schedule();
  }
  if (post) {
    PostTurn(Priority::kControl);
  }
}

absl::Status Cell::Push(QueuedMessage envelope) {
  const Priority priority = envelope.priority;
  if (priority == Priority::kNormal && !system_->Admits()) {
    system_->dead_letters().Record(DeadLetterReason::kDraining, name());
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                 "the node is shutting down and takes no new work for {}; use another node",
                 name());
  }
  bool stopped = false;
  bool post = false;
  absl::Status failing;
  Mailbox::PushResult pushed;
  {
    MutexLock lock(mutex_);
    stopped = state_ == ActorState::kStopped || closed_;
    if (!stopped && state_ == ActorState::kRestarting && IsFailing()) {
      failing = Error(absl::StatusCode::kUnavailable, reasons::kActorFailing,
                      "the node's part {} failed {} time(s) and starts again within seconds; its "
                      "last failure: {}",
                      name(), failures_, MessageOf(last_failure_));
    } else if (!stopped) {
      system_->Hold();  // before a turn can see it
      pushed = mailbox_.Push(std::move(envelope));
      post = pushed.accepted && Schedule();
    }
  }
  if (stopped) {
    system_->dead_letters().Record(DeadLetterReason::kStopped, name());
    return Error(absl::StatusCode::kUnavailable, reasons::kActorStopped,
                 "actor {} has stopped; try again once the node reports ready", name());
  }
  if (!failing.ok()) {
    system_->dead_letters().Record(DeadLetterReason::kFailing, name());
    return failing;
  }
  if (pushed.displaced) {
    RecordDeadLetter(std::move(pushed.displaced), pushed.reason);
  }
  if (post) {
    PostTurn(priority);
  }
  if (!pushed.accepted) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                 "the mailbox of {} is full at its capacity of {}; try again later", name(),
                 priority == Priority::kControl ? options_.mailbox.control_capacity
                                                : options_.mailbox.capacity);
  }
  return absl::OkStatus();
}

void Cell::Deliver(uint64_t life, Event event) {
  bool post = false;
  {
    MutexLock lock(mutex_);
    if (life != life_) {
      return;  // `event` is destroyed with the arguments, after the lock
    }
    system_->Hold();
    events_.push_back({std::move(event), true});
    post = Schedule();
  }
  if (post) {
    PostTurn(Priority::kControl);
  }
}

ActorStats Cell::Stats() const {
  MutexLock lock(mutex_);
  return {.name = options_.name,
          .state = state_,
          .queued = mailbox_.size(),
          .capacity = mailbox_.capacity(Priority::kNormal),
          .handled = handled_,
          .failures = failures_,
          .failing = IsFailing(),
          .last_failure = last_failure_};
}

uint64_t Cell::life() const {
  MutexLock lock(mutex_);
  return life_;
}

absl::Status Cell::ReserveEvent() {
  MutexLock lock(mutex_);
  if (reserved_ >= limits::kMaxOutstandingPerActor) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "actor {} already waits for {} answers; try again later", options_.name,
                 reserved_);
  }
  ++reserved_;
  return absl::OkStatus();
}

absl::Status Cell::Offload(Executor& pool, std::function<void()> work, Event done) {
  RETURN_IF_ERROR(ReserveEvent());
  pool.Post([self = shared_from_this(), token = std::make_shared<WorkToken>(system_), life = life(),
             work = std::move(work), done = std::move(done)] {
    const SystemState::TurnScope scope(*self->system_);
    const absl::Status status = Guarded(self->name(), [&] {
      work();
      return absl::OkStatus();
    });
    self->Deliver(life,
                  status.ok() ? done : Event([status](Cell&) { return absl::Status(status); }));
  });
  return absl::OkStatus();
}

void Cell::StopAfterThisMessage() {
  MutexLock lock(mutex_);
  stop_now_ = true;
}

bool Cell::Schedule() {
  if (scheduled_ || state_ != ActorState::kRunning) {
    return false;
  }
  scheduled_ = true;
  return true;
}

void Cell::PostTurn(Priority priority) {
  executor_.Post([self = shared_from_this()] { self->RunTurn(); }, priority);
}

void Cell::RunTurn() {
  {
    MutexLock lock(mutex_);
    running_ = true;
  }
  const SystemState::TurnScope scope(*system_);
  const TimePoint end = executor_.clock().Now() + limits::kMaxTurnTime;
  for (int handled = 0; handled < limits::kMaxMessagesPerTurn; ++handled) {
    std::optional<Work> work = NextWork();
    if (!work) {
      return;
    }
    Perform(std::move(*work));
    if (executor_.clock().Now() >= end) {
      break;
    }
  }
  {
    MutexLock lock(mutex_);
    running_ = false;
  }
  PostTurn(Priority::kNormal);
}

// Returns the next piece of work, or ends the turn if there is nothing to do.
std::optional<Cell::Work> Cell::NextWork() {
  std::unique_ptr<ActorBase> dead;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  if (state_ == ActorState::kRunning) {
    const bool empty = events_.empty() && mailbox_.size() == 0;
    if (stop_now_ || (stop_when_empty_ && empty)) {
      closed_ = true;
      return StopWork();
    }
    if (!started_) {
      return StartWork();
    }
    if (!events_.empty()) {
      QueuedEvent event = std::move(events_.front());
      events_.pop_front();
      reserved_ -= event.reserved ? 1 : 0;
      return std::move(event.run);
    }
    if (std::optional<QueuedMessage> envelope = mailbox_.Pop()) {
      return std::move(*envelope);
    }
  }
  running_ = false;
  scheduled_ = false;
  if (state_ == ActorState::kStopped) {
    dead = std::move(actor_);
  }
  return std::nullopt;
}

void Cell::Perform(Work work) {
  const absl::Status status = Guarded(name(), [&] { return Attempt(work); });
  if (!status.ok()) {
    Fail(status, std::move(work));
  } else if (std::holds_alternative<StopWork>(work)) {
    Terminate();
  } else if (!std::holds_alternative<StartWork>(work)) {
    work = StartWork();  // destroying the message may answer its asker; only then is the work done
    system_->Release();
  }
}

absl::Status Cell::Attempt(Work& work) {
  if (auto* envelope = std::get_if<QueuedMessage>(&work)) {
    return Handle(*envelope);
  }
  if (auto* event = std::get_if<Event>(&work)) {
    executor_.Trace(name_hash_);
    return (*event)(*this);
  }
  if (std::holds_alternative<StartWork>(work)) {
    return StartActor();
  }
  return actor_ != nullptr ? actor_->StopIn(*this) : absl::OkStatus();
}

absl::Status Cell::Handle(QueuedMessage& envelope) {
  if (envelope.abandoned != nullptr && envelope.abandoned->load()) {
    system_->dead_letters().Record(DeadLetterReason::kExpired, name());
    return absl::OkStatus();
  }
  executor_.Trace(name_hash_ + envelope.tag + 1);
  RETURN_IF_ERROR(envelope.payload->Deliver(*this));
  MutexLock lock(mutex_);
  ++handled_;
  return absl::OkStatus();
}

absl::Status Cell::StartActor() {
  actor_ = factory_();
  RUVD_CHECK(actor_ != nullptr);
  RETURN_IF_ERROR(actor_->StartIn(*this));
  MutexLock lock(mutex_);
  started_ = true;
  return absl::OkStatus();
}

void Cell::RecordDeadLetter(std::optional<QueuedMessage> envelope, DeadLetterReason reason) {
  system_->dead_letters().Record(reason, name());
  envelope.reset();
  system_->Release();
}

}  // namespace ruvd::runtime::actor_internal
