// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>

#include "base/clock.h"
#include "federation/events/actions.h"
#include "federation/limits.h"
#include "federation/link/token_bucket.h"

namespace ruvd::federation {

// How many signatures a node checks for its peers: a share of a core over all links, and a share of
// that for each. What is beyond has no effect for now and is nobody's fault. Anti-entropy brings
// items and records again, proofs and accusations wait (CheckBacklog). Not thread-safe.
class SignatureBudget {
 public:
  void LinkUp(LinkId link) { links_.try_emplace(link); }
  void LinkDown(LinkId link) { links_.erase(link); }
  // From now on a link pays; 0: nobody, what is checked is this node's own affair. For what was
  // `awaited` of the link it may cause more, yet less than all that the node does.
  void Charge(LinkId link, bool awaited, TimePoint now) {
    payer_ = link;
    awaited_ = awaited;
    now_ = now;
  }
  // Pays for one check. False: not now.
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
