// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/peer_scores.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "federation/limits.h"

namespace ruvd::federation {
namespace {

// Returns the share of a count that is left after one heartbeat.
double FadingOf(Duration half_life) {
  const std::chrono::duration<double> step = limits::kHeartbeat;
  return std::exp2(-step / std::chrono::duration<double>(half_life));
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
  const int doublings = std::min(sentence.times++, limits::kGraylistDoublings);
  sentence.until = now_ + limits::kGraylistTime * (1 << doublings);
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
