// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "node/runtime/dead_letters.h"

namespace ruvd::runtime {

// What happens to one more message when the normal lane is full. The control lane always rejects.
enum class Overflow : uint8_t {
  kReject,      // the sender gets RESOURCE_EXHAUSTED
  kDropOldest,  // the oldest queued message becomes a dead letter
  kCoalesce,    // it replaces the queued message with the same key, in place; rejects if no key
                // matches
};

// Both capacities are at least 1; unbounded mailboxes do not exist.
struct MailboxOptions {
  size_t capacity = 256;
  size_t control_capacity = 32;
  Overflow overflow = Overflow::kReject;
};

// A failed actor is rebuilt by its factory after a backoff, for ever: what made it fail, such as a
// full disk, may end. After more than `max_restarts` failures within `window` it counts as failing
// until it has worked for a whole `window`. While a failing actor waits for its restart, messages
// to it are refused at once, with UNAVAILABLE (ACTOR_FAILING) and the last failure.
struct SupervisionOptions {
  int max_restarts = 3;
  Duration window = std::chrono::seconds(30);
  BackoffOptions backoff;
  // A message whose handling failed this often is dropped as poison instead of delivered again.
  int poison_crashes = 2;
};

struct ActorFailure {
  std::string actor;
  absl::Status status;
  int failures_in_window = 0;
  bool failing = false;  // the actor counts as failing now
};

// The callbacks run on executor threads and must not block. An empty callback ignores the event;
// the counters remain.
struct ActorSystemOptions {
  // Seed of the generators that actors get from Context::Rng().
  uint64_t seed = 0;
  // Called for every failure.
  std::function<void(const ActorFailure&)> on_failure;
  // Called for dead letters number 1, 2, 4, 8 and so on of each reason.
  std::function<void(const DeadLetter&)> on_dead_letter;
};

}  // namespace ruvd::runtime
