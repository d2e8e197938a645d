// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/runtime/dead_letters.h"

#include <bit>

namespace ruvd::runtime {

std::string_view DeadLetterReasonName(DeadLetterReason reason) {
  switch (reason) {
    case DeadLetterReason::kMailboxFull:
      return "mailbox_full";
    case DeadLetterReason::kDropped:
      return "dropped";
    case DeadLetterReason::kCoalesced:
      return "coalesced";
    case DeadLetterReason::kStopped:
      return "stopped";
    case DeadLetterReason::kDraining:
      return "draining";
    case DeadLetterReason::kExpired:
      return "expired";
    case DeadLetterReason::kPoison:
      return "poison";
    case DeadLetterReason::kFailing:
      return "failing";
  }
  return "unknown";
}

void DeadLetters::Record(DeadLetterReason reason, const std::string& actor) {
  const uint64_t count = counts_[static_cast<size_t>(reason)].fetch_add(1) + 1;
  if (sample_ && std::has_single_bit(count)) {
    sample_({reason, actor, count});
  }
}

}  // namespace ruvd::runtime
