// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/executor.h"
#include "node/runtime/dead_letters.h"
#include "node/runtime/options.h"

namespace ruvd::runtime::actor_internal {

class Cell;

// A message whose type only its sender and its receiver know.
class Payload {
 public:
  virtual ~Payload() = default;
  // Calls the handler of the cell's actor. May be called again after a failure.
  virtual absl::Status Deliver(Cell& cell) = 0;
};

struct QueuedMessage {
  std::unique_ptr<Payload> payload;
  Priority priority = Priority::kNormal;
  uint64_t tag = 0;  // index of the alternative, for the trace
  uint64_t key = 0;  // for Overflow::kCoalesce
  int crashes = 0;   // number of failed deliveries
  // True once the asker no longer waits for the answer.
  std::shared_ptr<const std::atomic<bool>> abandoned;
};

// Two bounded first-in first-out lanes. Messages that it removes are handed to the caller, who must
// destroy them without holding a lock, because destroying a message may answer its asker. Not
// thread-safe.
class Mailbox {
 public:
  explicit Mailbox(MailboxOptions options);

  struct PushResult {
    bool accepted = false;
    std::optional<QueuedMessage> displaced;  // or the refused message itself
    DeadLetterReason reason = DeadLetterReason::kMailboxFull;
  };
  PushResult Push(QueuedMessage envelope);
  // Puts a popped message back to the front of its lane, regardless of the capacity.
  void Return(QueuedMessage envelope);
  // Returns the next message; the control lane comes first.
  std::optional<QueuedMessage> Pop();
  std::vector<QueuedMessage> TakeAll();
  size_t size() const { return lanes_[0].size() + lanes_[1].size(); }
  size_t capacity(Priority priority) const {
    return priority == Priority::kControl ? options_.control_capacity : options_.capacity;
  }

 private:
  PushResult Displace(std::deque<QueuedMessage>& lane, QueuedMessage envelope);

  const MailboxOptions options_;
  std::array<std::deque<QueuedMessage>, 2> lanes_;  // by Priority
};

}  // namespace ruvd::runtime::actor_internal
