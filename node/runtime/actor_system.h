// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/status.h"
#include "node/runtime/actor.h"
#include "node/runtime/cell.h"
#include "node/runtime/dead_letters.h"
#include "node/runtime/options.h"
#include "node/runtime/ref.h"
#include "node/runtime/system_state.h"

namespace ruvd::runtime {

template <typename Msg>
struct SpawnOptions {
  // Appears in errors, logs and metrics.
  std::string name;
  MailboxOptions mailbox;
  SupervisionOptions supervision;
  // Where the actor's turns run; nullptr means the system's executor.
  Executor* executor = nullptr;
  // Required for Overflow::kCoalesce. Called by senders, at the same time: must be pure.
  std::function<uint64_t(const Msg&)> coalesce_key;
};

// A set of actors that start, drain and stop together. It works the same on every Executor.
// Thread-safe. All executors must outlive it, and must be shut down (or out of tasks) before
// anything that the actors refer to is destroyed: after a forced stop a handler may still be
// running.
class ActorSystem {
 public:
  explicit ActorSystem(Executor& executor, ActorSystemOptions options = {})
      : state_(std::make_shared<actor_internal::SystemState>(executor, std::move(options))) {}
  // Stops all actors that still run, by force.
  ~ActorSystem() { state_->Abort(); }
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;

  // Starts an actor. `factory` builds it, and rebuilds it after each failure; it and the handlers
  // run in turns only. Spawn actors that others depend on first, because a drain stops the youngest
  // first. While the system drains, the result is the address of a stopped actor.
  template <typename Msg>
  Ref<Msg> Spawn(SpawnOptions<Msg> options,
                 std::type_identity_t<std::function<std::unique_ptr<Actor<Msg>>()>> factory);

  // Refuses new work from outside, finishes all accepted work and what follows from it, then stops
  // the actors one by one and calls `done`. At the deadline it stops the rest by force. May be
  // called only once. `done` runs on the system's executor.
  void Drain(TimePoint deadline, std::function<void(DrainReport)> done) {
    state_->Drain(deadline, std::move(done));
  }
  // Drains and waits for the report. Call it only if other threads run the executors.
  DrainReport DrainAndWait(TimePoint deadline);

  const DeadLetters& dead_letters() const { return state_->dead_letters(); }
  // Returns the statistics of every actor that has not stopped, in order of spawning.
  std::vector<ActorStats> Stats() const;

 private:
  const std::shared_ptr<actor_internal::SystemState> state_;
};

template <typename Msg>
Ref<Msg> ActorSystem::Spawn(
    SpawnOptions<Msg> options,
    std::type_identity_t<std::function<std::unique_ptr<Actor<Msg>>()>> factory) {
  RUVD_CHECK(options.mailbox.overflow != Overflow::kCoalesce || options.coalesce_key != nullptr);
  Executor& executor = options.executor != nullptr ? *options.executor : state_->executor();
  auto cell = std::make_shared<actor_internal::TypedCell<Msg>>(
      actor_internal::CellOptions{std::move(options.name), options.mailbox, options.supervision},
      state_, executor, [factory = std::move(factory)] { return factory(); },
      std::move(options.coalesce_key));
  if (state_->Add(cell)) {
    cell->Start();
  } else {
    cell->StopNow();
  }
  return Ref<Msg>(std::move(cell));
}

}  // namespace ruvd::runtime
