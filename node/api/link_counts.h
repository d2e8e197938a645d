// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/limit_counter.h"

namespace ruvd::api {

// What the streams of all links of a node count since its start. Thread-safe.
struct LinkCounts {
  LimitCounter waiting_frames;  // reads that wait for the actor: kMaxLinkFramesWaiting of a link
  LimitCounter queue;           // links ended for a full queue: kMaxLinkQueue of a link
  LimitCounter of_connection;   // links over one connection: one at a time
  // Bytes of frames that were received, and that were sent
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bytes_out{0};

  void CountIn(size_t bytes) { bytes_in.fetch_add(bytes, std::memory_order_relaxed); }
  void CountOut(size_t bytes) { bytes_out.fetch_add(bytes, std::memory_order_relaxed); }
};

}  // namespace ruvd::api
