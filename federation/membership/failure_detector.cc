// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/failure_detector.h"

#include <algorithm>
#include <utility>

#include "federation/limits.h"

namespace ruvd::federation {

using v1::WireFrame;

void FailureDetector::Adjust(int change) {
  if (lifeguard_) {
    health_ = std::clamp(health_ + change, 0, limits::kMaxLocalHealth);
  }
}

void FailureDetector::LinkUp(LinkId link, const privacy::NodeId& peer, TimePoint now) {
  Watch watch{.peer = peer, .last_heard = now};
  // The first ping is at a random time, so that the peer's neighbours ping it at different times
  // and one of them does so soon.
  watch.next_ping = now + Duration(static_cast<int64_t>(random_.Below(
                              static_cast<uint64_t>(Duration(limits::kPingPeriod).count()))));
  watches_[link] = watch;
  link_of_[peer] = link;
  Resolve(peer);
}

void FailureDetector::LinkDown(LinkId link, bool lost, TimePoint now) {
  const auto found = watches_.find(link);
  if (found == watches_.end()) {
    return;
  }
  const privacy::NodeId peer = found->second.peer;
  watches_.erase(found);
  std::erase_if(errands_, [link](const IndirectProbe& errand) { return errand.asker == link; });
  if (auto current = link_of_.find(peer); current != link_of_.end() && current->second == link) {
    link_of_.erase(current);
    if (lost) {  // links break more often than nodes: try another link before asking others
      wanted_.insert(peer);
      Begin(peer, now, limits::kProbeStep).by_rumour = false;
    } else {
      checks_.erase(peer);
    }
  }
}

FailureDetector::Open& FailureDetector::Begin(const privacy::NodeId& peer, TimePoint now,
                                              Duration first_step) {
  const auto [check, begun] = checks_.try_emplace(peer);
  if (begun) {
    check->second = {.deadline = now + ScaledTimeout(limits::kPingTimeout),
                     .next_step = now + first_step,
                     .seq = next_seq_++,
                     .helpers = {}};
  }
  return check->second;
}

void FailureDetector::OnRecord(const privacy::NodeId& peer) {
  if (const auto check = checks_.find(peer); check != checks_.end() && check->second.by_rumour) {
    checks_.erase(check);
  }
}

void FailureDetector::Check(const privacy::NodeId& peer, size_t members, TimePoint now) {
  const auto link = link_of_.find(peer);
  if (link == link_of_.end()) {
    // The suspect's neighbours watch it. A few other members check it, too, in case most of these
    // neighbours failed themselves.
    if (random_.Bernoulli(limits::kWitnesses / static_cast<double>(std::max<size_t>(members, 1)))) {
      wanted_.insert(peer);
      if (!checks_.contains(peer)) {
        Begin(peer, now, limits::kProbeStep).by_rumour = true;
      }
    }
    return;
  }
  watches_.at(link->second).next_ping = std::min(watches_.at(link->second).next_ping, now);
}

void FailureDetector::OnFrameReceived(LinkId link, TimePoint now) {
  const auto found = watches_.find(link);
  if (found != watches_.end()) {
    found->second.last_heard = now;
    Resolve(found->second.peer);
  }
}

void FailureDetector::Resolve(const privacy::NodeId& peer) {
  if (checks_.erase(peer) > 0) {
    Adjust(-1);
  }
  wanted_.erase(peer);
  for (size_t i = 0; i < errands_.size();) {
    if (errands_[i].target == peer) {
      Answer(errands_[i], /*reached=*/true);
      errands_.erase(errands_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

std::optional<Duration> FailureDetector::OnAck(LinkId link, uint64_t seq, TimePoint now) {
  const auto watch = watches_.find(link);
  if (watch == watches_.end() || seq == 0) {
    return std::nullopt;
  }
  std::deque<OpenPing>& pings = watch->second.pings;
  const auto ping = std::ranges::find(pings, seq, &OpenPing::seq);
  if (ping != pings.end()) {
    watch->second.rtt = now - ping->sent;
    // a link keeps its order, so older pings are answered, too
    pings.erase(pings.begin(), std::next(ping));
    return watch->second.rtt;
  }
  const auto check = std::find_if(checks_.begin(), checks_.end(), [&](const auto& entry) {
    const std::vector<LinkId>& helpers = entry.second.helpers;
    return entry.second.seq == seq &&
           std::find(helpers.begin(), helpers.end(), link) != helpers.end();
  });
  if (check != checks_.end()) {
    Resolve(privacy::NodeId(check->first));
  }
  return std::nullopt;
}

bool FailureDetector::IsAckOverdue(LinkId link, TimePoint now) const {
  const std::deque<OpenPing>& pings = watches_.at(link).pings;
  return !pings.empty() && now > pings.front().deadline;
}

void FailureDetector::OnNack(LinkId link, uint64_t seq) {
  for (auto& [peer, check] : checks_) {
    if (check.seq == seq && std::erase(check.helpers, link) > 0) {
      ++check.nacks;
    }
  }
}

void FailureDetector::Answer(const IndirectProbe& errand, bool reached) {
  WireFrame frame;
  if (reached) {
    frame.mutable_ack()->set_seq(errand.seq);
  } else {
    frame.mutable_nack()->set_seq(errand.seq);
  }
  outbox_->Send(errand.asker, std::move(frame));
}

void FailureDetector::OnPingRequest(LinkId link, uint64_t seq, const privacy::NodeId& target,
                                    TimePoint now) {
  IndirectProbe errand{.asker = link,
                       .seq = seq,
                       .target = target,
                       .nack_at = now + limits::kPingTimeout * limits::kNackPercent / 100};
  const bool asked_already =
      std::any_of(errands_.begin(), errands_.end(),
                  [&](const IndirectProbe& e) { return e.asker == link && e.seq == seq; });
  if (errands_.size() >= limits::kMaxErrands && !asked_already) {
    return;  // the asker will count this node as silent, which is true
  }
  if (!asked_already) {
    errands_.push_back(errand);
  }
  const auto direct = link_of_.find(target);
  if (direct != link_of_.end()) {
    SendPing(direct->second, watches_.at(direct->second), now);
  } else {
    wanted_.insert(target);
  }
}

std::vector<privacy::NodeId> FailureDetector::TakeDialRequests() {
  std::vector<privacy::NodeId> wanted(wanted_.begin(), wanted_.end());
  wanted_.clear();
  return wanted;
}

void FailureDetector::SendPing(LinkId link, Watch& watch, TimePoint now) {
  const uint64_t seq = next_seq_++;
  if (watch.pings.size() < limits::kMaxOpenPings) {
    watch.pings.push_back({.seq = seq, .sent = now, .deadline = now + limits::kLinkTimeout});
  }
  WireFrame frame;
  frame.mutable_ping()->set_seq(seq);
  if (clock_ != nullptr) {
    frame.mutable_ping()->set_wall_ms(clock_->OwnWallMillis());
  }
  if (state_) {
    frame.mutable_ping()->set_state_round(state_->round);
    frame.mutable_ping()->set_state_digest(std::string(AsText(state_->digest)));
  }
  outbox_->Send(link, std::move(frame));
}

void FailureDetector::Step(const privacy::NodeId& peer, Open& open, TimePoint now) {
  open.next_step = now + ScaledTimeout(limits::kProbeStep);
  if (auto direct = link_of_.find(peer); direct != link_of_.end()) {
    SendPing(direct->second, watches_.at(direct->second), now);
  }
  std::vector<LinkId> others;
  for (const auto& [link, watch] : watches_) {
    if (watch.peer != peer) {
      others.push_back(link);
    }
  }
  random_.Shuffle(std::span<LinkId>(others));
  others.resize(std::min(others.size(), limits::kIndirectChecks));
  for (const LinkId link : others) {
    WireFrame frame;
    frame.mutable_ping_request()->set_seq(open.seq);
    frame.mutable_ping_request()->set_target(std::string(AsText(peer)));
    outbox_->Send(link, std::move(frame));
    if (std::find(open.helpers.begin(), open.helpers.end(), link) == open.helpers.end()) {
      open.helpers.push_back(link);
    }
  }
}

void FailureDetector::DetectStall(TimePoint now) {
  stalled_ = Duration(0);
  if (lifeguard_ && last_tick_ && now - *last_tick_ > limits::kStallGap) {
    stalled_ = now - *last_tick_;
    Adjust(1);
    for (auto& [link, watch] : watches_) {
      watch.last_heard += stalled_;
      for (OpenPing& ping : watch.pings) {
        ping.deadline += stalled_;
      }
    }
    for (auto& [peer, check] : checks_) {
      check.deadline += stalled_;
    }
  }
  last_tick_ = now;
}

std::vector<privacy::NodeId> FailureDetector::Tick(TimePoint now) {
  DetectStall(now);
  for (auto& [link, watch] : watches_) {
    if (watch.next_ping <= now) {
      watch.next_ping = now + limits::kPingPeriod;
      SendPing(link, watch, now);
      const Duration answer = 3 * watch.rtt.value_or(Duration(0));
      Begin(watch.peer, now, ScaledTimeout(std::max<Duration>(limits::kRequestTimeout, answer)));
    }
  }
  std::vector<privacy::NodeId> failed;
  for (auto it = checks_.begin(); it != checks_.end();) {
    Open& open = it->second;
    if (open.deadline <= now) {
      // Helpers that tried without success answer with a Nack. If all helpers are silent, this node
      // is probably slow itself.
      const bool others_tried = open.helpers.empty() && open.nacks > 0;
      Adjust(others_tried ? 0
                          : static_cast<int>(std::clamp<size_t>(open.helpers.size(), 1,
                                                                limits::kIndirectChecks)));
      failed.push_back(it->first);
      it = checks_.erase(it);
      continue;
    }
    if (open.next_step <= now) {
      Step(it->first, open, now);
    }
    ++it;
  }
  for (size_t i = 0; i < errands_.size();) {
    if (errands_[i].nack_at <= now) {
      Answer(errands_[i], /*reached=*/false);
      errands_.erase(errands_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return failed;
}

}  // namespace ruvd::federation
