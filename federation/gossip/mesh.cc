// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/mesh.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {

void Mesh::LinkUp(LinkId link, const privacy::NodeId& peer, bool outbound, const Source& source,
                  TimePoint now) {
  links_[link] = {.peer = peer, .outbound = outbound, .source = source, .used = now};
}

void Mesh::LinkDown(LinkId link) {
  mesh_.erase(link);
  links_.erase(link);
}

void Mesh::Graft(LinkId link) {
  mesh_.insert(link);
}

bool Mesh::OnGraft(LinkId link, double score, TimePoint now) {
  if (score < 0 || links_.at(link).leaving || BackedOff(links_.at(link).peer, now)) {
    return false;
  }
  mesh_.insert(link);
  return true;
}

void Mesh::OnPrune(LinkId link, Duration backoff, TimePoint now) {
  const Link& pruned = links_.at(link);
  mesh_.erase(link);
  TimePoint& until = backoff_[pruned.peer];
  until = std::max(until, now + std::min<Duration>(backoff, limits::kPruneBackoffMax));
  Touch(link, now);
}

void Mesh::OnLeaving(LinkId link, TimePoint now) {
  mesh_.erase(link);
  links_.at(link).leaving = true;
  Touch(link, now);
}

Duration Mesh::BackoffLeft(const privacy::NodeId& peer, TimePoint now) const {
  const auto found = backoff_.find(peer);
  return found == backoff_.end() ? Duration{} : std::max(Duration{}, found->second - now);
}

void Mesh::Touch(LinkId link, TimePoint now) {
  if (auto found = links_.find(link); found != links_.end()) {
    found->second.used = now;
  }
}

LinkId Mesh::LeastRecentlyUsed() const {
  LinkId idlest = 0;
  for (const auto& [id, link] : links_) {
    if (!mesh_.contains(id) && (idlest == 0 || link.used < links_.at(idlest).used)) {
      idlest = id;
    }
  }
  return idlest;
}

size_t Mesh::Outbound() const {
  return static_cast<size_t>(std::count_if(
      mesh_.begin(), mesh_.end(), [this](LinkId link) { return links_.at(link).outbound; }));
}

std::vector<LinkId> Mesh::ChoosePrunes(const std::function<double(LinkId)>& score) {
  std::vector<LinkId> order(mesh_.begin(), mesh_.end());
  random_.Shuffle(std::span<LinkId>(order));
  std::stable_sort(order.begin(), order.end(),
                   [&](LinkId a, LinkId b) { return score(a) > score(b); });
  // After the best links, chance decides; a score alone would keep the same group together forever.
  random_.Shuffle(std::span<LinkId>(order).subspan(std::min(order.size(), limits::kMeshBest)));
  order = OtherSourcesFirst(order, {});
  const auto outbound = [this](LinkId link) { return links_.at(link).outbound; };
  const auto kept_end = order.begin() + limits::kMeshDegree;
  auto kept_outbound = std::count_if(order.begin(), kept_end, outbound);
  auto replaced = std::make_reverse_iterator(kept_end);  // the last kept ones are replaced first
  for (auto it = kept_end; it != order.end() && std::cmp_less(kept_outbound, limits::kMeshOutbound);
       ++it) {
    if (outbound(*it)) {
      replaced = std::find_if_not(replaced, order.rend(), outbound);
      std::swap(*it, *replaced++);
      ++kept_outbound;
    }
  }
  return {kept_end, order.end()};
}

Mesh::Places Mesh::PlacesOfSources() const {
  Places places;
  for (const LinkId link : mesh_) {
    TakePlace(link, places);
  }
  return places;
}

bool Mesh::HasPlace(LinkId link, const Places& places) const {
  const Source& source = links_.at(link).source;
  const auto found = places.find(source);
  return source == Source{} || found == places.end() || found->second < limits::kMeshOfSource;
}

bool Mesh::TakePlace(LinkId link, Places& places) const {
  if (!HasPlace(link, places)) {
    return false;
  }
  ++places[links_.at(link).source];
  return true;
}

std::vector<LinkId> Mesh::OtherSourcesFirst(const std::vector<LinkId>& links, Places places) const {
  std::vector<LinkId> first;
  std::vector<LinkId> behind;
  for (const LinkId link : links) {
    (TakePlace(link, places) ? first : behind).push_back(link);
  }
  first.insert(first.end(), behind.begin(), behind.end());
  return first;
}

std::vector<LinkId> Mesh::Candidates(const std::function<double(LinkId)>& score,
                                     TimePoint now) const {
  std::vector<LinkId> candidates;
  for (const auto& [id, link] : links_) {
    if (!mesh_.contains(id) && !link.leaving && !BackedOff(link.peer, now) && score(id) >= 0) {
      candidates.push_back(id);
    }
  }
  return candidates;
}

// Links that exchange items once are there anyway, so this costs no dial. Members of one source
// that have each a link to this node lose nothing by it while no other link waits.
void Mesh::PlanOtherSources(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan) {
  Places places;
  auto counted = static_cast<size_t>(std::ranges::count_if(
      mesh_, [this, &places](LinkId link) { return TakePlace(link, places); }));
  if (counted == mesh_.size()) {
    return;
  }
  std::vector<LinkId> candidates = Candidates(score, now);
  std::erase_if(candidates, [&](LinkId link) { return !HasPlace(link, places); });
  if (candidates.empty()) {
    return;
  }
  random_.Shuffle(std::span<LinkId>(candidates));
  for (const LinkId link : candidates) {
    if (counted < limits::kMeshDegree && TakePlace(link, places)) {
      ++counted;
      mesh_.insert(link);
      plan.graft.push_back(link);
    }
  }
  if (counted >= limits::kMeshLow) {
    PruneBeyondPlaces(score, now, plan);
  }
}

void Mesh::PruneBeyondPlaces(const std::function<double(LinkId)>& score, TimePoint now,
                             Plan& plan) {
  std::vector<LinkId> order(mesh_.begin(), mesh_.end());
  random_.Shuffle(std::span<LinkId>(order));
  std::ranges::stable_sort(order, std::greater<>(), score);
  Places places;
  std::erase_if(order, [&](LinkId link) { return TakePlace(link, places); });
  for (auto it = order.rbegin(); it != order.rend() && mesh_.size() > limits::kMeshDegree; ++it) {
    if (!links_.at(*it).outbound || Outbound() > limits::kMeshOutbound) {
      plan.prune.push_back(*it);
      OnPrune(*it, limits::kPruneBackoff, now);
    }
  }
}

// If most neighbours deliver nothing, chance alone would take long to improve the mesh (gossipsub
// v1.1, "opportunistic grafting").
void Mesh::PlanOpportunity(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan) {
  if (next_opportunity_ > now || mesh_.empty()) {
    return;
  }
  const bool first = next_opportunity_ == TimePoint{};
  next_opportunity_ = now + limits::kOpportunityPeriod;
  std::vector<double> scores;
  for (const LinkId link : mesh_) {
    scores.push_back(score(link));
  }
  const auto middle = scores.begin() + static_cast<std::ptrdiff_t>(scores.size() / 2);
  std::nth_element(scores.begin(), middle, scores.end());
  const double median = *middle;
  if (first || median >= limits::kOpportunityScore) {
    return;
  }
  plan.better_than = median;
  std::vector<LinkId> better = Candidates(score, now);
  std::erase_if(better, [&](LinkId link) { return score(link) <= median; });
  plan.graft = OtherSourcesFirst(better, PlacesOfSources());
  plan.graft.resize(std::min(plan.graft.size(), limits::kOpportunityGrafts));
  mesh_.insert(plan.graft.begin(), plan.graft.end());
}

Mesh::Plan Mesh::Heartbeat(size_t others, const std::function<double(LinkId)>& score,
                           TimePoint now) {
  Plan plan;
  std::erase_if(backoff_, [now](const auto& entry) { return entry.second <= now; });
  for (LinkId link : std::vector<LinkId>(mesh_.begin(), mesh_.end())) {
    if (score(link) < 0) {
      plan.prune.push_back(link);
      OnPrune(link, limits::kPruneBackoff, now);
    }
  }
  const bool vacated = !plan.prune.empty();
  if (mesh_.size() > limits::kMeshHigh) {
    for (LinkId link : ChoosePrunes(score)) {
      plan.prune.push_back(link);
      OnPrune(link, limits::kPruneBackoff, now);
    }
  }
  PlanOpportunity(score, now, plan);
  const size_t wanted = std::min(limits::kMeshDegree, others);
  const size_t least = vacated ? limits::kMeshDegree : limits::kMeshLow;
  if (mesh_.size() < std::min(least, others)) {
    std::vector<LinkId> candidates = Candidates(score, now);
    random_.Shuffle(std::span<LinkId>(candidates));
    candidates = OtherSourcesFirst(candidates, PlacesOfSources());
    candidates.resize(std::min(candidates.size(), wanted - mesh_.size()));
    for (LinkId link : candidates) {
      mesh_.insert(link);
      plan.graft.push_back(link);
    }
    plan.dials = wanted - mesh_.size();
  } else {
    PlanOtherSources(score, now, plan);
  }
  const size_t outbound = Outbound();
  if (outbound < std::min(limits::kMeshOutbound, others)) {
    plan.dials = std::max(plan.dials, limits::kMeshOutbound - outbound);
  }
  if (next_mix_ <= now) {
    plan.dials += next_mix_ == TimePoint{} ? 0 : 1;
    next_mix_ = now + limits::kMixPeriod / 2 +
                Duration(static_cast<int64_t>(
                    random_.Below(static_cast<uint64_t>(Duration(limits::kMixPeriod).count()))));
  }
  for (const auto& [id, link] : links_) {
    const Duration limit = link.outbound ? limits::kIdleLink : limits::kIdleLinkAccepted;
    if (!mesh_.contains(id) && now - link.used > limit) {
      plan.idle.push_back(id);
    }
  }
  return plan;
}

}  // namespace ruvd::federation
