// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

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
    return share.Take(now_) && node_.Take(now_);
  }

 private:
  TokenBucket node_{limits::kChecksPerSecond, limits::kCheckBurst, TimePoint{}};
  struct Shares {
    TokenBucket unasked{limits::kChecksPerSecondOfPeer, limits::kCheckBurstOfPeer, TimePoint{}};
    TokenBucket awaited{limits::kAwaitedChecksPerSecondOfPeer, limits::kAwaitedCheckBurstOfPeer,
                        TimePoint{}};
  };
  std::map<LinkId, Shares> links_;
  LinkId payer_ = 0;
  bool awaited_ = false;
  TimePoint now_{};
};

}  // namespace ruvd::federation
