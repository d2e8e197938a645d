// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/runtime/mailbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"

namespace ruvd::runtime::actor_internal {

Mailbox::Mailbox(MailboxOptions options) : options_(options) {
  RUVD_CHECK(options_.capacity > 0 && options_.control_capacity > 0);
}

Mailbox::PushResult Mailbox::Push(QueuedMessage envelope) {
  auto& lane = lanes_[static_cast<size_t>(envelope.priority)];
  if (lane.size() < capacity(envelope.priority)) {
    lane.push_back(std::move(envelope));
    return {.accepted = true};
  }
  if (envelope.priority == Priority::kControl) {
    return {.displaced = std::move(envelope)};
  }
  return Displace(lane, std::move(envelope));
}

Mailbox::PushResult Mailbox::Displace(std::deque<QueuedMessage>& lane, QueuedMessage envelope) {
  PushResult result;
  switch (options_.overflow) {
    case Overflow::kReject:
      break;
    case Overflow::kDropOldest:
      result = {.accepted = true,
                .displaced = std::move(lane.front()),
                .reason = DeadLetterReason::kDropped};
      lane.pop_front();
      lane.push_back(std::move(envelope));
      return result;
    case Overflow::kCoalesce: {
      auto same = std::ranges::find(lane, envelope.key, &QueuedMessage::key);
      if (same == lane.end()) {
        break;
      }
      std::swap(*same, envelope);
      return {.accepted = true,
              .displaced = std::move(envelope),
              .reason = DeadLetterReason::kCoalesced};
    }
  }
  result.displaced = std::move(envelope);
  return result;
}

void Mailbox::Return(QueuedMessage envelope) {
  lanes_[static_cast<size_t>(envelope.priority)].push_front(std::move(envelope));
}

std::optional<QueuedMessage> Mailbox::Pop() {
  auto& control = lanes_[static_cast<size_t>(Priority::kControl)];
  auto& lane = control.empty() ? lanes_[static_cast<size_t>(Priority::kNormal)] : control;
  if (lane.empty()) {
    return std::nullopt;
  }
  QueuedMessage envelope = std::move(lane.front());
  lane.pop_front();
  return envelope;
}

std::vector<QueuedMessage> Mailbox::TakeAll() {
  std::vector<QueuedMessage> all;
  all.reserve(size());
  while (std::optional<QueuedMessage> envelope = Pop()) {
    all.push_back(std::move(*envelope));
  }
  return all;
}

}  // namespace ruvd::runtime::actor_internal
