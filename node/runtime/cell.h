// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/random.h"
#include "node/runtime/mailbox.h"
#include "node/runtime/options.h"
#include "node/runtime/system_state.h"

namespace ruvd::runtime {

enum class ActorState : uint8_t { kRunning, kRestarting, kStopped };

// A snapshot for metrics and status pages.
struct ActorStats {
  std::string name;
  ActorState state = ActorState::kRunning;
  size_t queued = 0;
  size_t capacity = 0;
  uint64_t handled = 0;
  uint64_t failures = 0;
  bool failing = false;  // it failed too often, and has not worked since for long enough
  absl::Status last_failure;
};

using TimerId = uint64_t;

namespace actor_internal {

class Cell;

// The part of an actor that does not depend on its message type.
class ActorBase {
 public:
  virtual ~ActorBase() = default;
  virtual absl::Status StartIn(Cell& cell) = 0;
  virtual absl::Status StopIn(Cell& cell) = 0;
};

// A function to run inside the actor's own turn: a timer, an answer, the end of a job.
using Event = std::function<absl::Status(Cell& cell)>;

struct CellOptions {
  std::string name;
  MailboxOptions mailbox;
  SupervisionOptions supervision;
};

// One actor as seen from outside: its mailbox, its scheduling on the executor, its lifetime. At
// most one turn is posted or running at any time, so the actor's code needs no locks.
//
// Lock rule: mutex_ is never held while calling out, destroying a message, or taking another lock.
class Cell : public std::enable_shared_from_this<Cell> {
 public:
  using Factory = std::function<std::unique_ptr<ActorBase>()>;
  Cell(CellOptions options, std::shared_ptr<SystemState> system, Executor& executor,
       Factory factory);

  const std::string& name() const { return options_.name; }
  Executor& executor() { return executor_; }
  const std::shared_ptr<SystemState>& system() { return system_; }

  // Thread-safe.
  void Start();
  absl::Status Push(QueuedMessage envelope);
  // Stops once the queue is empty, after the actor's OnStop; then calls `stopped`.
  void StopWhenEmpty(const std::function<void()>& stopped);
  // Stops without handling another message and returns how many were lost. A running handler
  // finishes, but this call does not wait for it.
  size_t StopNow();
  ActorStats Stats() const;
  // Runs `event` in a turn, unless the actor was restarted or stopped since `life`. The event must
  // have been reserved.
  void Deliver(uint64_t life, Event event);

  // The methods below may be called only inside a turn.
  ActorBase& actor() { return *actor_; }
  Random& rng() { return random_; }
  uint64_t life() const;
  absl::Status ReserveEvent();
  absl::Status Offload(Executor& pool, std::function<void()> work, Event done);
  absl::StatusOr<TimerId> StartTimer(Duration delay, bool periodic, Event event);
  void CancelTimer(TimerId id);
  void StopAfterThisMessage();

 private:
  struct Timer {
    TimerHandle handle;
    Duration period{};  // zero for once
    Event event;
  };
  struct QueuedEvent {
    Event run;
    bool reserved = false;
  };
  // What a life leaves behind; it is destroyed without the lock held.
  struct DiscardedState {
    std::unique_ptr<ActorBase> actor;
    std::deque<QueuedEvent> events;
    std::map<TimerId, Timer> timers;
  };
  struct StartWork {};
  struct StopWork {};
  using Work = std::variant<StartWork, StopWork, Event, QueuedMessage>;

  // Marks the actor as having a turn posted; true if the caller must post it after unlocking.
  bool Schedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PostTurn(Priority priority);
  void RunTurn();
  std::optional<Work> NextWork();
  void Perform(Work work);
  absl::Status Attempt(Work& work);
  absl::Status Handle(QueuedMessage& envelope);
  absl::Status StartActor();
  void Fail(const absl::Status& status, Work work);
  void DisposeFailed(Work work, bool hopeless);
  // Records one more failure and returns how many there were within the window.
  int RecordFailure(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the actor failed too often and has not worked since for a whole window.
  bool IsFailing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Restart();
  DiscardedState EndLife() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DestroyDiscarded(DiscardedState remains);
  size_t Terminate();
  void ArmTimer(TimerId id, Duration delay, uint64_t life);
  void FireTimer(TimerId id, uint64_t life);
  absl::Status RunTimer(TimerId id);
  void RecordDeadLetter(std::optional<QueuedMessage> envelope, DeadLetterReason reason);

  const CellOptions options_;
  const std::shared_ptr<SystemState> system_;
  Executor& executor_;
  const Factory factory_;
  const uint64_t name_hash_;
  Random random_;                     // touched in turns only
  std::unique_ptr<ActorBase> actor_;  // touched in turns, or under mutex_ while no turn runs

  mutable Mutex mutex_;
  Mailbox mailbox_ ABSL_GUARDED_BY(mutex_);
  std::deque<QueuedEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::map<TimerId, Timer> timers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> when_stopped_ ABSL_GUARDED_BY(mutex_);
  std::deque<TimePoint> failures_in_window_ ABSL_GUARDED_BY(mutex_);
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  ActorState state_ ABSL_GUARDED_BY(mutex_) = ActorState::kRunning;
  uint64_t life_ ABSL_GUARDED_BY(mutex_) = 0;  // grows with every restart
  TimerId next_timer_ ABSL_GUARDED_BY(mutex_) = 1;
  size_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t handled_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_failure_ ABSL_GUARDED_BY(mutex_);
  bool failing_ ABSL_GUARDED_BY(mutex_) = false;  // as of the last failure; see IsFailing
  bool scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_when_empty_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_now_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // it stops for good; new messages are refused
};

}  // namespace actor_internal
}  // namespace ruvd::runtime
