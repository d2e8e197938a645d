// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::node {

// What a whole node uses.
struct ResourceUse {
  uint64_t descriptors = 0;  // open
  uint64_t most_descriptors = 0;
  uint64_t threads = 0;
  // Since the start: bytes of messages over links, payload bytes of items among those sent, and
  // commits to disk that items of other nodes caused
  uint64_t link_bytes_in = 0;
  uint64_t link_bytes_out = 0;
  uint64_t payload_bytes_out = 0;
  uint64_t peer_commits = 0;
};

// Return how many descriptors this process has open, and how many threads run in it; 0 where the
// kernel does not say.
uint64_t CountDescriptors();
uint64_t CountThreads();

}  // namespace ruvd::node
