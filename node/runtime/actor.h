// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "node/runtime/cell.h"
#include "node/runtime/ref.h"

namespace ruvd::runtime {

// What an actor may use while it handles a message: its only access to time, randomness and other
// actors. Valid during the call that received it. Not thread-safe, which is enough within a turn.
template <typename Msg>
class ActorContext {
 public:
  explicit ActorContext(actor_internal::Cell& cell) : cell_(cell) {}

  // The actor's own address, to give to others.
  Ref<Msg> Self() const {
    return Ref<Msg>(
        std::static_pointer_cast<actor_internal::TypedCell<Msg>>(cell_.shared_from_this()));
  }
  const std::string& name() const { return cell_.name(); }
  TimePoint Now() const { return cell_.executor().clock().Now(); }
  const Clock& clock() const { return cell_.executor().clock(); }
  // This actor's own generator, seeded from the system's; a restart does not rewind it.
  Random& Rng() { return cell_.rng(); }

  // Delivers `message` once after `delay`, even if the mailbox is full. Returns an error if the
  // actor has too many timers. A stop or restart of the actor cancels its timers.
  absl::StatusOr<TimerId> StartTimer(Duration delay, Msg message) {
    auto shared = std::make_shared<Msg>(std::move(message));
    return cell_.StartTimer(delay, false, [shared](actor_internal::Cell& cell) {
      return actor_internal::MessagePayload<Msg>::DeliverTo(*shared, cell);
    });
  }
  // Delivers what `make` returns repeatedly, each time at least `period` after the last message was
  // handled. Returns the errors of StartTimer.
  absl::StatusOr<TimerId> StartPeriodicTimer(Duration period, std::function<Msg()> make) {
    return cell_.StartTimer(period, true, [make = std::move(make)](actor_internal::Cell& cell) {
      Msg message = make();
      return actor_internal::MessagePayload<Msg>::DeliverTo(message, cell);
    });
  }
  // After this call nothing is delivered, even if the timer has already fired.
  void CancelTimer(TimerId id) { cell_.CancelTimer(id); }

  // Like Ref::Ask, but `on_reply(StatusOr<Reply>, ActorContext<Msg>&)` runs in a turn of this actor
  // and returns a Status as a handler does. It runs exactly once unless this actor stops or
  // restarts. Returns an error, and asks nothing, if too many questions are open.
  template <typename Reply, typename Target, typename Make>
  absl::Status Ask(const Ref<Target>& target, Make&& make, Duration timeout,
                   std::function<absl::Status(absl::StatusOr<Reply>, ActorContext&)> on_reply) {
    if (absl::Status reserved = cell_.ReserveEvent(); !reserved.ok()) {
      return reserved;
    }
    target.template Ask<Reply>(std::forward<Make>(make), Now() + timeout,
                               [cell = cell_.shared_from_this(), life = cell_.life(),
                                on_reply = std::move(on_reply)](absl::StatusOr<Reply> reply) {
                                 auto shared =
                                     std::make_shared<absl::StatusOr<Reply>>(std::move(reply));
                                 cell->Deliver(life, [on_reply, shared](actor_internal::Cell& own) {
                                   ActorContext context(own);
                                   return on_reply(std::move(*shared), context);
                                 });
                               });
    return absl::OkStatus();
  }

  // Runs `work` on another executor and then `done(ActorContext<Msg>&)` in a turn of this actor,
  // unless it stops or restarts meanwhile. Use it for long computations, because a handler must not
  // block. An exception in `work` fails this actor. A drain waits for the work.
  absl::Status Offload(Executor& pool, std::function<void()> work,
                       std::function<absl::Status(ActorContext&)> done) {
    return cell_.Offload(pool, std::move(work),
                         [done = std::move(done)](actor_internal::Cell& own) {
                           ActorContext context(own);
                           return done(context);
                         });
  }

  // Stops this actor after the current handler and OnStop; queued messages become dead letters.
  void Stop() { cell_.StopAfterThisMessage(); }

 private:
  actor_internal::Cell& cell_;
};

// The handler of one alternative of an actor's messages.
template <typename M, typename Context>
class MessageHandler {
 public:
  // Must not block. The message belongs to the caller: a handler moves out of it only after the
  // last step that can fail, because after a failure the message is delivered once again.
  //
  // An error means that this actor can no longer trust its own state: it is destroyed and rebuilt
  // by its factory. A faulty request is answered with an error status; it is not an error of the
  // handler. An exception counts as an error.
  virtual absl::Status On(M& message, Context& context) = 0;

 protected:
  ~MessageHandler() = default;
};

// An actor whose messages are the alternatives of a std::variant; it implements
//   absl::Status On(Alternative& message, Context& context) override;
// for each of them. Everything in it runs in turns, one at a time: members need no lock.
template <typename... Ms>
class Actor<std::variant<Ms...>> : public actor_internal::ActorBase,
                                   public MessageHandler<Ms, ActorContext<std::variant<Ms...>>>... {
 public:
  using Message = std::variant<Ms...>;
  using Context = ActorContext<Message>;

  // Called before the first message of every life. An error counts as a failure.
  virtual absl::Status OnStart(Context& /*context*/) { return absl::OkStatus(); }
  // Called after the last message of an orderly stop, to flush state. Not called if the actor never
  // started, fails or is stopped by force. During a drain, messages that it sends to older actors
  // are still handled.
  virtual absl::Status OnStop(Context& /*context*/) { return absl::OkStatus(); }

  // Calls the handler of the message's alternative.
  absl::Status Receive(Message& message, Context& context) {
    return std::visit(
        [&]<typename M>(M& alternative) {
          return static_cast<MessageHandler<M, Context>&>(*this).On(alternative, context);
        },
        message);
  }

 private:
  absl::Status StartIn(actor_internal::Cell& cell) final {
    Context context(cell);
    return OnStart(context);
  }
  absl::Status StopIn(actor_internal::Cell& cell) final {
    Context context(cell);
    return OnStop(context);
  }
};

namespace actor_internal {

template <typename Msg>
class MessagePayload final : public Payload {
 public:
  explicit MessagePayload(Msg message) : message_(std::move(message)) {}
  absl::Status Deliver(Cell& cell) override { return DeliverTo(message_, cell); }

  static absl::Status DeliverTo(Msg& message, Cell& cell) {
    ActorContext<Msg> context(cell);
    return static_cast<Actor<Msg>&>(cell.actor()).Receive(message, context);
  }

 private:
  Msg message_;
};

}  // namespace actor_internal
}  // namespace ruvd::runtime
