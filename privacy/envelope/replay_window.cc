// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/envelope/replay_window.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {

bool SequenceWindow::Seen(uint64_t seq) const {
  if (seq == 0 ||
      (newest_ >= limits::kReplayWindowBits && seq <= newest_ - limits::kReplayWindowBits)) {
    return true;  // 0, or older than the window: it may be a replay
  }
  return seq <= newest_ && seen_.test(seq % limits::kReplayWindowBits);
}

bool SequenceWindow::Mark(uint64_t seq) {
  if (Seen(seq)) {
    return false;
  }
  if (seq > newest_) {
    // Clear the bits of the numbers that the window now covers for the first time.
    if (seq - newest_ >= limits::kReplayWindowBits) {
      seen_.reset();
    } else {
      for (uint64_t s = newest_ + 1; s < seq; ++s) {
        seen_.reset(s % limits::kReplayWindowBits);
      }
    }
    newest_ = seq;
  }
  seen_.set(seq % limits::kReplayWindowBits);
  return true;
}

ReplayWindow::Sender& ReplayWindow::Touch(const NodeId& id) {
  auto found = senders_.find(id);
  if (found != senders_.end()) {
    by_recency_.splice(by_recency_.begin(), by_recency_, found->second.recency);
    return found->second;
  }
  if (senders_.size() >= max_senders_) {
    senders_.erase(by_recency_.back());
    by_recency_.pop_back();
  }
  by_recency_.push_front(id);
  Sender& sender = senders_[id];
  sender.recency = by_recency_.begin();
  return sender;
}

ReplayWindow::Boot* ReplayWindow::FindOrAddBoot(Sender& sender, const EnvelopeHeader& header) {
  auto& boots = sender.boots;
  for (Boot& boot : boots) {
    if (boot.key_epoch == header.key_epoch && boot.id == header.boot_id) {
      return &boot;
    }
  }
  const std::pair age(header.key_epoch, BootCounterOf(header.boot_id));
  const auto place = std::find_if(boots.begin(), boots.end(), [&age](const Boot& boot) {
    return std::pair(boot.key_epoch, BootCounterOf(boot.id)) < age;
  });
  if (place == boots.end() && boots.size() >= limits::kReplayBootsPerSender) {
    return nullptr;
  }
  const auto added =
      boots.insert(place, Boot{.key_epoch = header.key_epoch, .id = header.boot_id, .window = {}});
  const auto index = added - boots.begin();
  if (boots.size() > limits::kReplayBootsPerSender) {
    boots.pop_back();
  }
  return &boots[index];
}

absl::Status ReplayWindow::Admit(const EnvelopeHeader& header) {
  Boot* boot = FindOrAddBoot(Touch(header.sender_id), header);
  if (boot == nullptr || !boot->window.Mark(header.seq)) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kReplayed,
                 "message {} of boot {} of node {} was seen before; it has no effect", header.seq,
                 BootCounterOf(header.boot_id), ToHex(header.sender_id).substr(0, 16));
  }
  return absl::OkStatus();
}

void ReplayWindow::MarkSeen(const EnvelopeHeader& header) {
  if (Boot* boot = FindOrAddBoot(Touch(header.sender_id), header)) {
    boot->window.Mark(header.seq);
  }
}

}  // namespace ruvd::privacy
