// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/chunk_service.h"

#include <algorithm>
#include <utility>

namespace ruvd::federation {

bool ChunkService::Add(const Request& request, TimePoint now) {
  Peer& peer = peers_
                   .try_emplace(request.link,
                                Peer{.bytes = TokenBucket(limits::kServedBytesPerSecondOfPeer,
                                                          limits::kServedBytesPerSecondOfPeer, now),
                                     .waiting = {},
                                     .fresh = 0,
                                     .waits_for_all = false})
                   .first->second;
  if (std::ranges::any_of(peer.waiting, [&request](const Request& waiting) {
        return waiting.item == request.item && waiting.index == request.index;
      })) {
    return true;  // the peer asks again because it had to wait
  }
  if (peer.waiting.size() >= limits::kMaxChunkRequestsWaiting) {
    return false;
  }
  peer.waiting.push_back(request);
  ++peer.fresh;
  return true;
}

bool ChunkService::TakeFirst(Peer& peer, TimePoint now) {
  const auto bytes = static_cast<double>(peer.waiting.front().bytes);
  peer.waits_for_all = false;
  if (!peer.bytes.Take(now, bytes)) {
    return false;
  }
  if (!all_.Take(now, bytes)) {
    peer.bytes.Return(bytes);
    peer.waits_for_all = true;
    return false;
  }
  return true;
}

std::vector<ChunkService::Request> ChunkService::TakeDue(TimePoint now) {
  std::vector<Request> due;
  // Ends once each peer in turn had nothing that is due.
  size_t idle = 0;
  auto turn = peers_.upper_bound(served_);
  while (idle < peers_.size()) {
    if (turn == peers_.end()) {
      turn = peers_.begin();
    }
    Peer& peer = turn->second;
    if (!peer.waiting.empty() && TakeFirst(peer, now)) {
      served_ = turn->first;
      due.push_back(peer.waiting.front());
      peer.waiting.pop_front();
      idle = 0;
    } else {
      ++idle;
    }
    ++turn;
  }
  CountDelayed();
  return due;
}

void ChunkService::CountDelayed() {
  for (auto& [link, peer] : peers_) {
    const size_t delayed = std::min(std::exchange(peer.fresh, 0), peer.waiting.size());
    (peer.waits_for_all ? delayed_ : delayed_of_link_) += delayed;
  }
}

size_t ChunkService::waiting() const {
  size_t waiting = 0;
  for (const auto& [link, peer] : peers_) {
    waiting += peer.waiting.size();
  }
  return waiting;
}

}  // namespace ruvd::federation
