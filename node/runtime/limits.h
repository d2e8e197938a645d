// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace ruvd::limits {

// A turn ends after this many messages or this much time; then the actor queues up behind the
// others of its executor. 64 messages amortise the scheduling, and 2 ms is too short for a person
// or a heartbeat to notice.
inline constexpr int kMaxMessagesPerTurn = 64;
inline constexpr Duration kMaxTurnTime = std::chrono::milliseconds(2);

// Limits per actor of its timers, and of its unanswered asks and unfinished jobs. Their results
// bypass the mailbox's capacity, so these limits bound them.
inline constexpr size_t kMaxTimersPerActor = 1024;
inline constexpr size_t kMaxOutstandingPerActor = 1024;

}  // namespace ruvd::limits
