// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/token_bucket.h"
#include "federation/events/actions.h"
#include "federation/limits.h"

namespace ruvd::federation {

// Limits the payload bytes that this node sends, over each link and over all. Requests beyond the
// limits wait in their order, and links take turns. Bounded. Not thread-safe.
class ChunkService {
 public:
  struct Request {
    LinkId link = 0;
    Digest item{};
    uint32_t index = 0;
    size_t bytes = 0;  // of the chunk, at most kChunkBytes
  };

  // Takes a request. The answer may be due at once: call TakeDue. A request that waits already is
  // not taken twice. Returns false, without an effect, if kMaxChunkRequestsWaiting of the link
  // wait.
  bool Add(const Request& request, TimePoint now);
  // Removes and returns the requests that are answered now.
  std::vector<Request> TakeDue(TimePoint now);
  void LinkDown(LinkId link) { peers_.erase(link); }
  size_t waiting() const;
  // Return how many requests had to wait because of the bytes of their link, and because of those
  // of all links.
  uint64_t delayed_of_link() const { return delayed_of_link_; }
  uint64_t delayed() const { return delayed_; }

 private:
  struct Peer {
    TokenBucket bytes;
    std::deque<Request> waiting;
    size_t fresh = 0;            // the newest of them that were not looked at yet
    bool waits_for_all = false;  // rather than for its own bytes
  };
  // Counts the new requests that wait.
  void CountDelayed();
  // Returns whether the first request of a peer is due, and charges it.
  bool TakeFirst(Peer& peer, TimePoint now);

  TokenBucket all_{limits::kServedBytesPerSecond, limits::kServedBytesPerSecond, TimePoint{}};
  std::map<LinkId, Peer> peers_;
  uint64_t delayed_of_link_ = 0;
  uint64_t delayed_ = 0;
  LinkId served_ = 0;  // whose turn it was last
};

}  // namespace ruvd::federation
