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

// Remembers which sequence numbers of one boot were seen: the newest kReplayWindowBits numbers (the
// sliding window of RFC 4303, section 3.4.3).
class SequenceWindow {
 public:
  // Marks `seq` and returns true if it is new and not older than the window. Otherwise returns
  // false; 0 is never valid.
  bool Mark(uint64_t seq);
  // Returns true if Mark would return false.
  bool Seen(uint64_t seq) const;
  uint64_t newest() const { return newest_; }

 private:
  uint64_t newest_ = 0;
  std::bitset<limits::kReplayWindowBits> seen_;  // bit seq % kReplayWindowBits
};

// Refuses messages that were seen before, for each (sender, key epoch, boot). It keeps the newest
// two boots of a sender and refuses messages of older boots; under a later key every boot is newer,
// so that a thief of a former key cannot outrun its node. If there are too many senders, it forgets
// the least recently used one. Call it only with verified headers, because anyone can write any
// sender into an unverified one. Not thread-safe.
class ReplayWindow {
 public:
  explicit ReplayWindow(size_t max_senders = limits::kMaxReplaySenders)
      : max_senders_(max_senders) {}

  // Remembers the message and returns OK, or returns REPLAYED.
  absl::Status Admit(const EnvelopeHeader& header);
  // Remembers a message without a check, for messages that arrive in a way that needs none.
  void MarkSeen(const EnvelopeHeader& header);
  size_t senders() const { return senders_.size(); }

 private:
  struct Boot {
    uint32_t key_epoch = 0;
    BootId id{};
    SequenceWindow window;
  };
  struct Sender {
    std::vector<Boot> boots;  // newest first, at most kReplayBootsPerSender
    std::list<NodeId>::iterator recency;
  };
  Sender& Touch(const NodeId& id);
  // Returns the boot's entry and creates it if the boot is new enough. Returns nullptr if the boot
  // is older than those kept.
  static Boot* FindOrAddBoot(Sender& sender, const EnvelopeHeader& header);

  size_t max_senders_;
  std::map<NodeId, Sender> senders_;
  std::list<NodeId> by_recency_;  // most recent first
};

}  // namespace ruvd::privacy
