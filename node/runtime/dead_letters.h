// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ruvd::runtime {

// The reason why a message was never handled.
enum class DeadLetterReason : uint8_t {
  kMailboxFull,  // refused; its sender was told
  kDropped,      // pushed out by a newer message
  kCoalesced,    // replaced by a newer message of the same key
  kStopped,      // sent to, or still queued in, a stopped actor
  kDraining,     // refused because the system drains
  kExpired,      // its asker no longer waited
  kPoison,       // its handling failed too often
  kFailing,      // sent to, or still queued in, an actor that fails again and again
};
inline constexpr size_t kDeadLetterReasons = 8;

// Returns a stable lower-case name, for a metric's label.
std::string_view DeadLetterReasonName(DeadLetterReason reason);

struct DeadLetter {
  DeadLetterReason reason;
  std::string actor;   // the receiver
  uint64_t count = 0;  // dead letters of this reason so far
};

// Counts dead letters by reason and reports a logarithmic sample of them. Thread-safe.
class DeadLetters {
 public:
  explicit DeadLetters(std::function<void(const DeadLetter&)> sample)
      : sample_(std::move(sample)) {}

  void Record(DeadLetterReason reason, const std::string& actor);
  uint64_t count(DeadLetterReason reason) const {
    return counts_[static_cast<size_t>(reason)].load();
  }

 private:
  std::function<void(const DeadLetter&)> sample_;
  std::array<std::atomic<uint64_t>, kDeadLetterReasons> counts_{};
};

}  // namespace ruvd::runtime
