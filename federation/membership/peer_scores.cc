// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/peer_scores.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {
namespace {

// Returns the share of a count that is left after some time.
double FadingOf(Duration half_life, std::chrono::duration<double> time = limits::kHeartbeat) {
  return std::exp2(-time / std::chrono::duration<double>(half_life));
}

// The largest value of a restored count against a peer. Squared it is far below kGraylistScore, and
// it fades within two hours.
constexpr double kMostRestored = 20;

constexpr Duration kLongestGraylisting =
    limits::kGraylistTime * (int64_t{1} << limits::kGraylistDoublings);

// Returns the milliseconds of the wall clock since a record was made; 0 if that is to come.
int64_t MillisSince(int64_t saved_ms, int64_t wall_ms) {
  return saved_ms >= wall_ms ? 0 : wall_ms - std::max<int64_t>(saved_ms, 0);
}

// Smaller counts are treated as zero.
constexpr double kForgotten = 0.01;

double Square(double value) {
  return value * value;
}

}  // namespace

double PeerScores::ConductOf(const Peer& peer) {
  const double excess = std::max(0.0, peer.misbehaviour - limits::kMisbehaviourAllowed);
  return limits::kDeliveryWeight * peer.deliveries - Square(peer.invalid) - Square(excess);
}

double PeerScores::ScoreOf(const Peer& peer) {
  return ConductOf(peer) - Square(std::max(0.0, peer.deficit - limits::kDeficitAllowed));
}

double PeerScores::Of(const privacy::NodeId& peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : ScoreOf(found->second);
}

double PeerScores::ScoreOfLink(LinkId link) const {
  const auto found = links_.find(link);
  if (found == links_.end()) {
    return 0;
  }
  return Of(found->second.peer) + MeshTimeOf(found->second);
}

double PeerScores::MeshTimeOf(const Link& link) const {
  if (!link.meshed) {
    return 0;
  }
  const double share = std::chrono::duration<double>(now_ - *link.meshed) /
                       std::chrono::duration<double>(limits::kMeshTimeCap);
  return limits::kMeshTimeWeight * std::clamp(share, 0.0, 1.0);
}

PeerScores::Peer* PeerScores::CountsOf(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) {
    return nullptr;
  }
  if (peers_.size() >= limits::kMaxScores && !peers_.contains(found->second.peer)) {
    MakeRoom();
  }
  return &peers_[found->second.peer];
}

// Forgets the peer whose score is nearest to that of an unknown peer.
void PeerScores::MakeRoom() {
  peers_.erase(std::min_element(peers_.begin(), peers_.end(), [](const auto& a, const auto& b) {
    return std::abs(ScoreOf(a.second)) < std::abs(ScoreOf(b.second));
  }));
}

void PeerScores::Heartbeat(const std::set<LinkId>& mesh, TimePoint now) {
  static const double deliveries = FadingOf(limits::kDeliveryHalfLife);
  static const double invalid = FadingOf(limits::kInvalidHalfLife);
  static const double misbehaviour = FadingOf(limits::kMisbehaviourHalfLife);
  static const double deficit = FadingOf(limits::kDeficitHalfLife);
  for (auto& [id, link] : links_) {
    if (!mesh.contains(id)) {
      link.meshed.reset();
    } else if (!link.meshed) {
      link.meshed = now;
    }
  }
  for (auto it = peers_.begin(); it != peers_.end();) {
    Peer& peer = it->second;
    peer.deliveries *= deliveries;
    peer.invalid *= invalid;
    peer.misbehaviour *= misbehaviour;
    peer.deficit *= deficit;
    const bool forgotten =
        std::max({peer.deliveries, peer.invalid, peer.misbehaviour, peer.deficit}) < kForgotten;
    it = forgotten ? peers_.erase(it) : std::next(it);
  }
}

void PeerScores::Tick(TimePoint now) {
  now_ = now;
  std::erase_if(graylistings_, [now](const auto& entry) {
    return now - entry.second.until > limits::kGraylistMemory;
  });
}

void PeerScores::RecordDelivery(LinkId link) {
  if (Peer* peer = CountsOf(link)) {
    peer->deliveries = std::min(peer->deliveries + 1, limits::kMaxDeliveries);
  }
}

void PeerScores::RecordMissing(LinkId link) {
  const auto found = links_.find(link);
  const auto peer = found == links_.end() ? peers_.end() : peers_.find(found->second.peer);
  if (peer != peers_.end()) {
    peer->second.deliveries = std::max(peer->second.deliveries - 1, 0.0);
  }
}

void PeerScores::Invalid(LinkId link, double weight) {
  if (Peer* peer = CountsOf(link)) {
    peer->invalid += weight;
    UpdateGraylist(link);
  }
}

void PeerScores::RecordDeficit(LinkId link, double deficit) {
  if (deficit <= 0) {
    return;
  }
  if (Peer* peer = CountsOf(link)) {
    peer->deficit = std::max(peer->deficit, std::min(deficit, limits::kMaxDeficit));
  }
}

void PeerScores::RecordMisbehaviour(LinkId link, double weight) {
  if (Peer* peer = CountsOf(link)) {
    peer->misbehaviour += weight;
    UpdateGraylist(link);
  }
}

void PeerScores::UpdateGraylist(LinkId link) {
  const privacy::NodeId& id = links_.at(link).peer;
  const double score = ConductOf(peers_.at(id)) + MeshTimeOf(links_.at(link));
  if (score >= limits::kGraylistScore || Graylisted(id)) {
    return;
  }
  if (graylistings_.size() >= limits::kMaxScores && !graylistings_.contains(id)) {
    graylistings_.erase(std::ranges::min_element(
        graylistings_, {}, [](const auto& entry) { return entry.second.until; }));
  }
  Graylisting& sentence = graylistings_[id];
  const int64_t doublings = std::min<int64_t>(sentence.times++, limits::kGraylistDoublings);
  sentence.until = now_ + limits::kGraylistTime * (int64_t{1} << doublings);
  newly_graylisted_ = true;
}

KeptScores PeerScores::Keep(Instant now, int64_t own_wall_ms) const {
  KeptScores kept{.saved_ms = std::max(now.wall_ms, own_wall_ms), .peers = {}, .graylistings = {}};
  for (const auto& [id, peer] : peers_) {
    kept.peers.push_back({.id = id,
                          .deliveries = peer.deliveries,
                          .invalid = peer.invalid,
                          .misbehaviour = peer.misbehaviour,
                          .deficit = peer.deficit});
  }
  for (const auto& [id, sentence] : graylistings_) {
    const auto remaining =
        std::chrono::duration_cast<std::chrono::milliseconds>(sentence.until - now.now);
    kept.graylistings.push_back(
        {.id = id, .remaining_ms = remaining.count(), .times = sentence.times});
  }
  return kept;
}

void PeerScores::Restore(const KeptScores& kept, Instant now) {
  now_ = now.now;
  const int64_t passed_ms = MillisSince(kept.saved_ms, now.wall_ms);
  const std::chrono::duration<double, std::milli> passed(static_cast<double>(passed_ms));
  const auto faded = [passed](double count, double most, Duration half_life) {
    return std::isfinite(count) ? std::clamp(count, 0.0, most) * FadingOf(half_life, passed) : 0;
  };
  for (const KeptScores::Peer& peer : kept.peers) {
    if (peers_.size() < limits::kMaxScores) {
      peers_[peer.id] = {
          .deliveries = faded(peer.deliveries, limits::kMaxDeliveries, limits::kDeliveryHalfLife),
          .invalid = faded(peer.invalid, kMostRestored, limits::kInvalidHalfLife),
          .misbehaviour = faded(peer.misbehaviour, kMostRestored, limits::kMisbehaviourHalfLife),
          .deficit = faded(peer.deficit, limits::kMaxDeficit, limits::kDeficitHalfLife)};
    }
  }
  constexpr auto kMost =
      std::chrono::duration_cast<std::chrono::milliseconds>(kLongestGraylisting).count();
  constexpr auto kMemory =
      std::chrono::duration_cast<std::chrono::milliseconds>(limits::kGraylistMemory).count();
  for (const KeptScores::Graylisting& sentence : kept.graylistings) {
    const int64_t remaining_ms = std::clamp(sentence.remaining_ms, -kMemory, kMost);
    if (graylistings_.size() < limits::kMaxScores && passed_ms <= kMemory + remaining_ms) {
      graylistings_[sentence.id] = {
          .until = now.now + std::chrono::milliseconds(remaining_ms - passed_ms),
          .times = std::clamp<int64_t>(sentence.times, 1, limits::kGraylistDoublings + 1)};
    }
  }
}

std::vector<privacy::NodeId> PeerScores::Better(double score) const {
  std::vector<std::pair<double, privacy::NodeId>> better;
  for (const auto& [id, peer] : peers_) {
    if (const double of_peer = ScoreOf(peer); of_peer > score) {
      better.emplace_back(-of_peer, id);
    }
  }
  std::sort(better.begin(), better.end());
  std::vector<privacy::NodeId> ids;
  ids.reserve(better.size());
  for (const auto& [negated, id] : better) {
    ids.push_back(id);
  }
  return ids;
}

bool PeerScores::Graylisted(const privacy::NodeId& peer) const {
  const auto found = graylistings_.find(peer);
  return found != graylistings_.end() && found->second.until > now_;
}

std::vector<privacy::NodeId> PeerScores::Graylisted() const {
  std::vector<privacy::NodeId> ids;
  for (const auto& [id, sentence] : graylistings_) {
    if (sentence.until > now_) {
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace ruvd::federation
