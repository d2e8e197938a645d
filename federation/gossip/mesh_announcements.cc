// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/mesh_announcements.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {

bool MeshAnnouncements::Neighbour::judged() const {
  return owed >= limits::kLeastOwed;
}

void MeshAnnouncements::Heartbeat(const std::set<LinkId>& mesh, TimePoint now) {
  std::erase_if(neighbours_, [&mesh](const auto& entry) { return !mesh.contains(entry.first); });
  for (const LinkId link : mesh) {
    neighbours_.try_emplace(link, Neighbour{.since = now});
  }
  for (auto it = awaited_.begin(); it != awaited_.end();) {
    if (now - it->second.taken < limits::kAnnounceTime) {
      ++it;
      continue;
    }
    Settle(it->second);
    it = awaited_.erase(it);
  }
}

void MeshAnnouncements::Settle(const Awaited& item) {
  for (const auto& [link, announced] : item.announced) {
    const auto found = neighbours_.find(link);
    if (found == neighbours_.end() || item.taken - found->second.since < limits::kAnnounceGrace) {
      continue;  // it has left the mesh since, and has perhaps joined it again
    }
    Neighbour& neighbour = found->second;
    neighbour.owed += 1;
    neighbour.announced += announced ? 1 : 0;
    if (neighbour.owed >= limits::kMostOwed) {
      neighbour.owed /= 2;
      neighbour.announced /= 2;
    }
  }
}

void MeshAnnouncements::RecordItem(const Digest& id, const std::set<LinkId>& told,
                                   const std::set<LinkId>& excused, TimePoint now) {
  if (awaited_.size() >= limits::kMaxAwaitedItems) {
    return;
  }
  Awaited item{.taken = now, .announced = {}};
  for (const auto& [link, neighbour] : neighbours_) {
    if (now - neighbour.since >= limits::kAnnounceGrace && !excused.contains(link)) {
      item.announced[link] = told.contains(link);
    }
  }
  if (!item.announced.empty()) {
    awaited_.try_emplace(id, std::move(item));
  }
}

void MeshAnnouncements::RecordAnnouncement(const Digest& id, LinkId link) {
  const auto item = awaited_.find(id);
  if (item == awaited_.end()) {
    return;
  }
  if (const auto found = item->second.announced.find(link); found != item->second.announced.end()) {
    found->second = true;
  }
}

double MeshAnnouncements::SecondBestBeside(LinkId link) const {
  std::vector<double> shares;
  for (const auto& [other, neighbour] : neighbours_) {
    if (other != link && neighbour.judged()) {
      shares.push_back(neighbour.announced / neighbour.owed);
    }
  }
  if (shares.size() < limits::kComparedNeighbour) {
    return 0;
  }
  const auto compared = shares.begin() + (limits::kComparedNeighbour - 1);
  std::ranges::nth_element(shares, compared, std::greater<>());
  return *compared;
}

double MeshAnnouncements::DeficitOf(LinkId link) const {
  const auto found = neighbours_.find(link);
  if (found == neighbours_.end() || !found->second.judged()) {
    return 0;
  }
  const double share = SecondBestBeside(link);
  if (share < limits::kLeastAnnounced) {
    return 0;
  }
  const double least = limits::kLeastShareOfCompared * share * found->second.owed;
  return std::max(0.0, least - found->second.announced);
}

}  // namespace ruvd::federation
