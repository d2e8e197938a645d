// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How a GossipCore leaves: it begins nothing new, lets running transfers end, and then ends the
// links. Links through relays, which have the highest ids, end before the links that carry them.

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

absl::Status Draining() {
  return Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
               "node is shutting down; dial it again after its next start");
}

}  // namespace

void GossipCore::State::CloseDraining(Link& link, Instant now) {
  CloseWithGoaway(link, Draining(), now);
}

void GossipCore::State::BeginDrain(Duration deadline, Instant now) {
  const Duration patience = std::min<Duration>(deadline, limits::kDrainMax);
  drain_until = now.now + patience;
  last_served = now.now;
  WireFrame frame = GoawayFrame(Draining());
  frame.mutable_goaway()->set_drain_ms(static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(patience).count()));
  const auto shared = std::make_shared<const WireFrame>(std::move(frame));
  std::vector<LinkId> ending;
  for (const auto& [id, link] : std::views::reverse(links)) {
    if (patience > Duration(0) && link.active) {
      outbox.Send(id, shared);
    } else {
      ending.push_back(id);
    }
  }
  for (const LinkId id : ending) {
    CloseDraining(links.at(id), now);
  }
}

void GossipCore::State::TickDrain(Instant now) {
  std::vector<LinkId> ending;
  const bool quiet = now.now - last_served >= limits::kDrainQuiet && !exchange.transferring();
  for (const auto& [id, link] : std::views::reverse(links)) {
    const bool ours_is_over = drain_until && (quiet || now.now >= *drain_until);
    const bool theirs_is_over = link.drains_until && now.now >= *link.drains_until;
    if (ours_is_over || theirs_is_over) {
      ending.push_back(id);
    }
  }
  for (const LinkId id : ending) {
    CloseDraining(links.at(id), now);
  }
}

// The peer leaves: it is no longer a neighbour, and running transfers between both nodes may end.
void GossipCore::State::OnPeerDrains(Link& link, Duration patience, Instant now) {
  mesh.OnLeaving(link.id, now.now);
  link.drains_until = now.now + std::min<Duration>(patience, limits::kDrainMax) +
                      limits::kDrainQuiet;  // the peer should end the link itself
}

}  // namespace ruvd::federation
