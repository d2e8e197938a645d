// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace ruvd::limits {

// A turn ends after this many messages or this much time, and the actor queues up behind the
// others of its executor. 64 amortises the scheduling; 2 ms is below what a person or a heartbeat
// notices.
inline constexpr int kMaxMessagesPerTurn = 64;
inline constexpr Duration kMaxTurnTime = std::chrono::milliseconds(2);

// Timers, and asks and jobs not yet answered, that one actor may have. Their results bypass the
// mailbox's capacity, so this is what bounds them.
inline constexpr size_t kMaxTimersPerActor = 1024;
inline constexpr size_t kMaxOutstandingPerActor = 1024;

}  // namespace ruvd::limits
