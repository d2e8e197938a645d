// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The limits that hold peers, as operators see them. SECURITY.md explains each.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/limit_use.h"
#include "federation/core/core_state.h"
#include "federation/core/gossip_core.h"
#include "federation/limits.h"

namespace ruvd::federation {

std::vector<LimitUse> GossipCore::Limits() const {
  const State& state = *state_;
  const GossipCounters& counters = state.outbox.counters();
  const LimitCounts& counts = counters.limits;
  const SignatureBudget& checks = state.certificates.budget();
  const auto half_open = static_cast<uint64_t>(
      std::ranges::count_if(state.links, [](const auto& link) { return link.second.half_open(); }));
  std::vector<LimitUse> all = {
      {"links", LimitScope::kSystem, "links", limits::kMaxLinks, state.links.size() - half_open,
       counts.links},
      {"half_open_links", LimitScope::kUnauthenticated, "links", limits::kMaxHalfOpenLinks,
       half_open, counts.half_open_links},
      {"frames", LimitScope::kLink, "frames a second", limits::kFramesPerSecond, 0, counts.frames},
      {"signature_checks", LimitScope::kSystem, "checks a second", limits::kChecksPerSecond, 0,
       checks.put_off()},
      {"signature_checks_of_link", LimitScope::kLink, "checks a second",
       limits::kChecksPerSecondOfPeer, 0, checks.put_off_of_link()},
      {"accusations", LimitScope::kOrigin, "refuted accusations at once",
       limits::kFalseAccusationBurst, 0, counts.accusations},
      {"revocation_parts", LimitScope::kLink, "parts at once", limits::kRevocationPartBurst, 0,
       counts.revocation_parts},
      {"scores", LimitScope::kOrigin, "members kept out", 0, Graylisted().size(),
       counters.graylistings},
  };
  const std::vector<LimitUse> of_items = state.exchange.Limits();
  all.insert(all.end(), of_items.begin(), of_items.end());
  return all;
}

}  // namespace ruvd::federation
