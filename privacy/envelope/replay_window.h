// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "privacy/envelope/envelope.h"
#include "privacy/limits.h"

namespace ruvd::privacy {

// Which sequence numbers of one boot were seen: the newest one and kReplayWindowBits behind it
// (the sliding window of RFC 4303 section 3.4.3).
class SequenceWindow {
 public:
  // True, and marks it, if `seq` is new and not behind the window. 0 is never valid.
  bool Mark(uint64_t seq);
  // True if Mark would refuse it.
  bool Seen(uint64_t seq) const;
  uint64_t newest() const { return newest_; }

 private:
  uint64_t newest_ = 0;
  std::bitset<limits::kReplayWindowBits> seen_;  // bit seq % kReplayWindowBits
};

// Refuses messages that were seen before, per (sender, boot). Keeps the newest two boots of a
// sender, so a message of an older boot is refused, and forgets the sender used least recently when
// there are too many. Call only with verified headers: anyone can write any sender otherwise. Not
// thread-safe.
class ReplayWindow {
 public:
  explicit ReplayWindow(size_t max_senders = limits::kMaxReplaySenders)
      : max_senders_(max_senders) {}

  // OK and remembered, or REPLAYED.
  absl::Status Admit(const EnvelopeHeader& header);
  // Remembers a message that came by a way which needs no check, without judging it.
  void Note(const EnvelopeHeader& header);
  size_t senders() const { return senders_.size(); }

 private:
  struct Boot {
    BootId id{};
    SequenceWindow window;
  };
  struct Sender {
    std::vector<Boot> boots;  // newest first, at most kReplayBootsPerSender
    std::list<NodeId>::iterator recency;
  };
  Sender& Touch(const NodeId& id);
  // The boot's entry, made if the boot is new enough; nullptr if it is older than those kept.
  static Boot* FindOrAddBoot(Sender& sender, const BootId& id);

  size_t max_senders_;
  std::map<NodeId, Sender> senders_;
  std::list<NodeId> by_recency_;  // most recent first
};

}  // namespace ruvd::privacy
