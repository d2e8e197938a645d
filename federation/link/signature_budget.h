// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/token_bucket.h"
#include "federation/events/actions.h"
#include "federation/limits.h"

namespace ruvd::federation {

// Limits how many signatures a node checks for its peers: a share of a core over all links, and a
// part of it for each link. Checks beyond the budget are put off, and the peer is not blamed.
// Anti-entropy brings items and records again; proofs and accusations wait (CheckBacklog). Not
// thread-safe.
class SignatureBudget {
 public:
  void LinkUp(LinkId link) { links_.try_emplace(link); }
  void LinkDown(LinkId link) { links_.erase(link); }
  // Charges the following checks to a link; with 0 they are this node's own and cost nothing. For
  // data that this node `awaited` from the link, the link may cause more checks, but fewer than the
  // node does in total.
  void Charge(LinkId link, bool awaited, TimePoint now) {
    payer_ = link;
    awaited_ = awaited;
    now_ = now;
  }
  // Charges one check. Returns false if the budget does not allow it now.
  bool Take() {
    const auto payer = links_.find(payer_);
    if (payer == links_.end()) {
      return true;
    }
    TokenBucket& share = awaited_ ? payer->second.awaited : payer->second.unasked;
    if (!share.Take(now_)) {
      ++put_off_of_link_;
      return false;
    }
    const bool taken = node_.Take(now_);
    put_off_ += taken ? 0 : 1;
    return taken;
  }
  // Return how many checks were put off because of the share of their link, and because of all
  // links together.
  uint64_t put_off_of_link() const { return put_off_of_link_; }
  uint64_t put_off() const { return put_off_; }

 private:
  TokenBucket node_{limits::kChecksPerSecond, limits::kCheckBurst, TimePoint{}};
  struct Shares {
    TokenBucket unasked{limits::kChecksPerSecondOfPeer, limits::kCheckBurstOfPeer, TimePoint{}};
    TokenBucket awaited{limits::kAwaitedChecksPerSecondOfPeer, limits::kAwaitedCheckBurstOfPeer,
                        TimePoint{}};
  };
  std::map<LinkId, Shares> links_;
  uint64_t put_off_of_link_ = 0;
  uint64_t put_off_ = 0;
  LinkId payer_ = 0;
  bool awaited_ = false;
  TimePoint now_{};
};

}  // namespace ruvd::federation
