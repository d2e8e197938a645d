// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How many links GossipCore keeps, and which it closes for others.

#include <algorithm>

#include "base/crowd.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status IdleLink() {
  return Error(
      absl::StatusCode::kUnavailable, reasons::kLinkIdle,
      "link is not part of the mesh and made room for another; dial again when it is needed");
}

}  // namespace

size_t GossipCore::State::CountedLinks() const {
  return static_cast<size_t>(
      std::ranges::count_if(links, [](const auto& link) { return !link.second.half_open(); }));
}

void GossipCore::State::MakeRoomForHalfOpenLink(Instant now) {
  Crowd<LinkId, Mesh::Source> half_open;
  for (const auto& [id, link] : links) {  // by age
    if (link.half_open()) {
      half_open.Add(id, link.source);
    }
  }
  if (half_open.size() >= limits::kMaxHalfOpenLinks) {
    ++outbox.counters().limits.half_open_links;
    CloseWithGoaway(links.at(*half_open.OldestOfMost()),
                    Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                          "{} links are being opened, most of them from where this one comes; dial "
                          "again",
                          half_open.size()),
                    now);
  }
}

bool GossipCore::State::MakeRoomForLink(Instant now) {
  if (CountedLinks() < limits::kMaxLinks) {
    return true;
  }
  const LinkId idlest = mesh.LeastRecentlyUsed();
  if (idlest == 0) {
    return false;
  }
  CloseIdle(idlest, now);
  return true;
}

void GossipCore::State::CloseIdle(LinkId id, Instant now) {
  CloseWithGoaway(links.at(id), IdleLink(), now);
}

void GossipCore::State::CloseCrowded(Link& link, Instant now) {
  ++outbox.counters().limits.links;
  CloseWithGoaway(link,
                  Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                        "node has {} links already; dial another member", limits::kMaxLinks),
                  now);
}

}  // namespace ruvd::federation
