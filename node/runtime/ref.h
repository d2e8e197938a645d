// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/runtime/ask.h"
#include "node/runtime/cell.h"

namespace ruvd::runtime {

template <typename Msg>
class Actor;
class ActorSystem;

namespace actor_internal {

// The form of a message inside a mailbox; defined with Actor.
template <typename Msg>
class MessagePayload;

// A cell that knows the type of its messages.
template <typename Msg>
class TypedCell final : public Cell {
 public:
  using KeyFunction = std::function<uint64_t(const Msg&)>;
  TypedCell(CellOptions options, std::shared_ptr<SystemState> system, Executor& executor,
            Factory factory, KeyFunction key)
      : Cell(std::move(options), std::move(system), executor, std::move(factory)),
        key_(std::move(key)) {}
  uint64_t KeyOf(const Msg& message) const { return key_ ? key_(message) : 0; }

 private:
  const KeyFunction key_;
};

}  // namespace actor_internal

// The address of an actor. Cheap to copy; keeps the mailbox alive, not the actor. Thread-safe.
template <typename Msg>
class Ref {
 public:
  // An address without an actor: telling it returns UNAVAILABLE.
  Ref() = default;

  // Queues a message without waiting. Messages from one sender on one lane are handled in order.
  // Returns RESOURCE_EXHAUSTED (MAILBOX_FULL) if the lane is full, and UNAVAILABLE if the actor has
  // stopped (ACTOR_STOPPED), fails again and again (ACTOR_FAILING) or the system drains
  // (NODE_DRAINING; control messages still pass). After OK the message is handled, unless the actor
  // is stopped by force, fails on it repeatedly or cannot start, or the mailbox drops it; each of
  // these is a counted dead letter.
  absl::Status TryTell(Msg message, Priority priority = Priority::kNormal) const;

  // Tells the message that `make(ReplyTo<Reply>)` returns and calls `callback(StatusOr<Reply>)`
  // exactly once: with the reply, with DEADLINE_EXCEEDED at `deadline`, or with the reason why no
  // reply will come. The callback runs on the thread that settles the question, possibly before Ask
  // returns, and must neither block nor throw. Actors use Context::Ask, which calls back in their
  // own turn. A question that is still queued at its deadline is never handled.
  template <typename Reply, typename Make>
  void Ask(Make&& make, TimePoint deadline, std::function<void(absl::StatusOr<Reply>)> callback,
           Priority priority = Priority::kNormal) const;

  const std::string& name() const {
    static const std::string nobody = "nobody";
    return cell_ != nullptr ? cell_->name() : nobody;
  }
  explicit operator bool() const { return cell_ != nullptr; }
  bool operator==(const Ref&) const = default;

 private:
  friend class ActorSystem;
  template <typename>
  friend class ActorContext;
  using TypedCell = actor_internal::TypedCell<Msg>;

  explicit Ref(std::shared_ptr<TypedCell> cell) : cell_(std::move(cell)) {}
  absl::Status Push(Msg message, Priority priority,
                    std::shared_ptr<const std::atomic<bool>> abandoned) const;

  std::shared_ptr<TypedCell> cell_;
};

template <typename Msg>
absl::Status Ref<Msg>::TryTell(Msg message, Priority priority) const {
  return Push(std::move(message), priority, nullptr);
}

template <typename Msg>
absl::Status Ref<Msg>::Push(Msg message, Priority priority,
                            std::shared_ptr<const std::atomic<bool>> abandoned) const {
  if (cell_ == nullptr) {
    return Error(absl::StatusCode::kUnavailable, reasons::kActorStopped,
                 "there is no such actor; the node has not started it");
  }
  actor_internal::QueuedMessage envelope;
  envelope.priority = priority;
  envelope.tag = message.index();
  envelope.key = cell_->KeyOf(message);
  envelope.abandoned = std::move(abandoned);
  envelope.payload = std::make_unique<actor_internal::MessagePayload<Msg>>(std::move(message));
  return cell_->Push(std::move(envelope));
}

template <typename Msg>
template <typename Reply, typename Make>
void Ref<Msg>::Ask(Make&& make, TimePoint deadline,
                   std::function<void(absl::StatusOr<Reply>)> callback, Priority priority) const {
  if (cell_ == nullptr) {
    callback(Error(absl::StatusCode::kUnavailable, reasons::kActorStopped,
                   "there is no such actor; the node has not started it"));
    return;
  }
  auto state =
      std::make_shared<actor_internal::AskState<Reply>>(cell_->system(), std::move(callback));
  TimerHandle timer = cell_->executor().PostAt(deadline, [state, name = cell_->name()] {
    state->Resolve(Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                         "{} did not answer in time; allow more time or try later", name));
  });
  // Held until the message is accepted, so that the destruction of a refused message does not count
  // as an answer.
  const ReplyTo<Reply> reply(state, timer);
  std::shared_ptr<const std::atomic<bool>> abandoned(state, &state->resolved());
  const absl::Status told = Push(std::forward<Make>(make)(reply), priority, std::move(abandoned));
  if (!told.ok()) {
    reply.Send(told);
  }
}

}  // namespace ruvd::runtime
