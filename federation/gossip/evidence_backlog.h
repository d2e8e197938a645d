// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "federation/actions.h"
#include "federation/gossip/fair_share.h"
#include "federation/limits.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd {

// Proofs that this node had no time to check, by the link that they came over: nobody sends them
// again as long as that link is open. Bounded, of each link its FairShare; not thread-safe.
class EvidenceBacklog {
 public:
  using Proof = federation::v1::EquivocationProof;

  // Nothing without room.
  void Add(LinkId link, const Proof& proof) {
    const auto found = waiting_.find(link);
    const size_t own = found == waiting_.end() ? 0 : found->second.size();
    if (own < FairShare(size_ - own, limits::kMaxEvidenceWaiting)) {
      waiting_[link].push_back(proof);
      ++size_;
    }
  }
  // Takes out the proof of a link that waits longest.
  std::optional<Proof> Take(LinkId link) {
    const auto found = waiting_.find(link);
    if (found == waiting_.end()) {
      return std::nullopt;
    }
    Proof proof = std::move(found->second.front());
    found->second.pop_front();
    --size_;
    if (found->second.empty()) {
      waiting_.erase(found);
    }
    return proof;
  }
  // There was no time again.
  void PutBack(LinkId link, Proof proof) {
    waiting_[link].push_front(std::move(proof));
    ++size_;
  }
  void LinkDown(LinkId link) {
    if (const auto found = waiting_.find(link); found != waiting_.end()) {
      size_ -= found->second.size();
      waiting_.erase(found);
    }
  }
  std::vector<LinkId> links() const {
    std::vector<LinkId> links;
    links.reserve(waiting_.size());
    for (const auto& [link, proofs] : waiting_) {
      links.push_back(link);
    }
    return links;
  }
  size_t size() const { return size_; }

 private:
  std::map<LinkId, std::deque<Proof>> waiting_;
  size_t size_ = 0;
};

}  // namespace ruvd
