// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/executor.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/runtime/system_state.h"

namespace ruvd::runtime {

namespace actor_internal {

// One question, answered once: the first of reply, deadline and loss wins. Thread-safe.
template <typename Reply>
class AskState {
 public:
  using Callback = std::function<void(absl::StatusOr<Reply>)>;
  AskState(std::shared_ptr<SystemState> system, Callback callback)
      : work_(std::make_unique<WorkToken>(std::move(system))), callback_(std::move(callback)) {}

  void Resolve(absl::StatusOr<Reply> result) {
    if (resolved_.exchange(true)) {
      return;
    }
    const Callback callback = std::exchange(callback_, nullptr);
    callback(std::move(result));
    work_.reset();  // after the callback, which may have queued the next piece of work
  }
  const std::atomic<bool>& resolved() const { return resolved_; }

 private:
  std::atomic<bool> resolved_{false};
  std::unique_ptr<WorkToken> work_;
  Callback callback_;
};

}  // namespace actor_internal

// The right to answer a question; part of the message that asks it. Copies share that right. If the
// last copy is destroyed without an answer (the actor stopped, crashed or forgot), the asker gets
// UNAVAILABLE with the reason ACTOR_STOPPED. Thread-safe.
template <typename Reply>
class ReplyTo {
 public:
  // A reply without an asker, for messages that are told, not asked.
  ReplyTo() = default;
  ReplyTo(std::shared_ptr<actor_internal::AskState<Reply>> state, TimerHandle deadline)
      : owner_(std::make_shared<Owner>(std::move(state), std::move(deadline))) {}

  // Only the first answer counts; one after the deadline is ignored.
  void Send(absl::StatusOr<Reply> reply) const {
    if (owner_ != nullptr) {
      owner_->deadline.Cancel();
      owner_->state->Resolve(std::move(reply));
    }
  }
  // Returns true once the asker no longer waits, so that work on the answer may stop.
  bool abandoned() const { return owner_ != nullptr && owner_->state->resolved().load(); }

 private:
  struct Owner {
    Owner(std::shared_ptr<actor_internal::AskState<Reply>> s, TimerHandle d)
        : state(std::move(s)), deadline(std::move(d)) {}
    ~Owner() {
      deadline.Cancel();
      state->Resolve(Error(absl::StatusCode::kUnavailable, reasons::kActorStopped,
                           "the actor ended the request without an answer; try again"));
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    std::shared_ptr<actor_internal::AskState<Reply>> state;
    TimerHandle deadline;
  };
  std::shared_ptr<Owner> owner_;
};

}  // namespace ruvd::runtime
