// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/federation/swarm.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

// TCP's least time before it sends again (RFC 6298 names 1 s, systems use 200 ms).
constexpr Duration kRetransmission = std::chrono::milliseconds(200);

}  // namespace

Swarm::Swarm(SwarmOptions options) : options_(std::move(options)), random_(options_.seed) {
  const auto pool = std::make_shared<federation::RecordPool>();
  nodes_.resize(options_.nodes);
  for (size_t i = 0; i < options_.nodes; ++i) {
    Node& node = nodes_[i];
    node.key = std::make_unique<privacy::NodeKey>(privacy::NodeKey::FromSeed(SeedOf(i)));
    federation::GossipConfig config = ConfigFor(*node.key, i);
    config.seeds = {AddressOf(0), AddressOf(1)};
    config.record_pool = pool;
    if (options_.configure) {
      options_.configure(i, config);
    }
    node.core = *federation::GossipCore::Create(
        std::move(config), *node.key, EntropyOf(random_.Next()), random_.Next(), NowOf(i));
    index_[node.key->id()] = i;
    by_address_[AddressOf(i)] = i;
    const auto phase =
        static_cast<int64_t>(random_.Below(static_cast<uint64_t>(options_.tick.count())));
    Schedule(now_ + Duration(phase), {.kind = Event::Kind::kTick, .node = i});
  }
}

federation::Instant Swarm::now() const {
  return At(now_.time_since_epoch());
}

federation::Instant Swarm::NowOf(size_t node) const {
  federation::Instant at = now();
  if (options_.clock_ahead) {
    at.wall_ms += options_.clock_ahead(node) / std::chrono::milliseconds(1);
  }
  return at;
}

Duration Swarm::Delay() {
  const auto span = static_cast<uint64_t>((options_.delay_max - options_.delay_min).count());
  return options_.delay_min + Duration(static_cast<int64_t>(random_.Below(span + 1)));
}

void Swarm::Schedule(TimePoint at, Event event) {
  event.at = at;
  event.order = next_order_++;
  events_.push(std::move(event));
}

void Swarm::Run(Duration duration) {
  const TimePoint end = now_ + duration;
  while (!events_.empty() && events_.top().at <= end) {
    Event event = events_.top();
    events_.pop();
    now_ = event.at;
    Handle(std::move(event));
  }
  now_ = end;
}

bool Swarm::RunUntil(const std::function<bool()>& done, Duration limit) {
  const TimePoint end = now_ + limit;
  while (now_ < end && !done()) {
    Run(std::min<Duration>(std::chrono::milliseconds(100), end - now_));
  }
  return done();
}

void Swarm::Handle(Event event) {
  Node& node = nodes_[event.node];
  if (node.crashed) {
    return;
  }
  if (node.stalled_until > now_) {
    const TimePoint at = node.stalled_until;
    Schedule(at, std::move(event));
    return;
  }
  switch (event.kind) {
    case Event::Kind::kTick:
      Apply(event.node, node.core->OnTick(NowOf(event.node)));
      Schedule(now_ + options_.tick, {.kind = Event::Kind::kTick, .node = event.node});
      return;
    case Event::Kind::kFrame:
      if (pipes_.contains(event.link) &&
          !(intercept && intercept(event.node, event.link, *event.frame))) {
        Apply(event.node, node.core->OnFrame(event.link, *event.frame, NowOf(event.node)));
      }
      return;
    case Event::Kind::kClose:
      if (pipes_.erase(event.link) > 0) {
        Apply(event.node, node.core->OnLinkClosed(event.link, NowOf(event.node)));
      }
      return;
    case Event::Kind::kDial:
      Connect(event.node, event.address);
      return;
  }
}

void Swarm::Apply(size_t index, federation::Actions actions) {
  for (federation::Action& action : actions) {
    if (auto* send = std::get_if<federation::SendFrame>(&action)) {
      Transmit(index, send->link, std::move(send->frame));
    } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
      CloseFrom(index, close->link);
    } else if (auto* dial = std::get_if<federation::Dial>(&action)) {
      Schedule(now_ + Delay(),
               {.kind = Event::Kind::kDial, .node = index, .address = dial->address});
    } else if (auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
      nodes_[index].accepted.insert(accepted->item.id);
    } else if (auto* dropped = std::get_if<federation::ItemDropped>(&action)) {
      nodes_[index].accepted.erase(dropped->id);
    } else if (auto* member = std::get_if<federation::MemberChanged>(&action)) {
      if (on_member && !member->member.self) {
        on_member(index, member->member);
      }
    }
  }
}

void Swarm::Connect(size_t from, const std::string& address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end() || !Reachable(from, found->second) ||
      (options_.can_dial && !options_.can_dial(from, found->second))) {
    Apply(from, nodes_[from].core->OnDialFailed(address, NowOf(from)));
    return;
  }
  const size_t to = found->second;
  if (nodes_[to].crashed) {
    return;  // no node answers: the dial times out
  }
  auto pipe = std::make_shared<Pipe>();
  pipe->ends[0] = {.node = from, .link = next_link_++, .last_delivery = now_};
  pipe->ends[1] = {.node = to, .link = next_link_++, .last_delivery = now_};
  for (int side = 0; side < 2; ++side) {
    pipes_[pipe->ends[side].link] = {pipe, side};
  }
  Apply(to, nodes_[to].core->OnLinkOpened(pipe->ends[1].link, "", NowOf(to)));
  Apply(from, nodes_[from].core->OnLinkOpened(pipe->ends[0].link, address, NowOf(from)));
}

void Swarm::Transmit(size_t from, federation::LinkId link,
                     std::shared_ptr<const federation::v1::WireFrame> frame) {
  const auto found = pipes_.find(link);
  if (found == pipes_.end()) {
    return;
  }
  const auto& [pipe, side] = found->second;
  End& to = pipe->ends[1 - side];
  if (!Reachable(from, to.node)) {
    return;
  }
  Duration delay = Delay();
  for (Duration again = kRetransmission; random_.Bernoulli(options_.loss); again *= 2) {
    delay += again;
  }
  to.last_delivery = std::max(now_ + delay, to.last_delivery);
  Schedule(
      to.last_delivery,
      {.kind = Event::Kind::kFrame, .node = to.node, .link = to.link, .frame = std::move(frame)});
}

void Swarm::CloseFrom(size_t /*node*/, federation::LinkId link) {
  const auto found = pipes_.find(link);
  if (found == pipes_.end()) {
    return;
  }
  const auto [pipe, side] = found->second;
  pipes_.erase(found);
  End& other = pipe->ends[1 - side];
  if (Reachable(pipe->ends[side].node, other.node)) {
    Schedule(std::max(now_ + Delay(), other.last_delivery),
             {.kind = Event::Kind::kClose, .node = other.node, .link = other.link});
  }
}

void Swarm::Crash(size_t node) {
  nodes_[node].crashed = true;
}

void Swarm::Stall(size_t node, Duration duration) {
  nodes_[node].stalled_until = std::max(nodes_[node].stalled_until, now_ + duration);
}

void Swarm::Share(size_t node) {
  auto actions = nodes_[node].core->SetConsent(
      privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, now().wall_ms, *nodes_[node].key),
      now());
  RUVD_CHECK(actions.ok());
  Apply(node, *std::move(actions));
}

void Swarm::Broadcast(size_t node, const federation::v1::WireFrame& frame) {
  const auto shared = std::make_shared<const federation::v1::WireFrame>(frame);
  for (federation::LinkId link : LinksOf(node)) {
    Transmit(node, link, shared);
  }
}

std::vector<federation::LinkId> Swarm::LinksOf(size_t node) const {
  std::vector<federation::LinkId> links;
  for (const auto& [link, end] : pipes_) {
    if (end.first->ends[end.second].node == node) {
      links.push_back(link);
    }
  }
  return links;
}

void Swarm::SendFrom(size_t node, federation::LinkId link, const federation::v1::WireFrame& frame) {
  Transmit(node, link, std::make_shared<const federation::v1::WireFrame>(frame));
}

bool Swarm::Converged(size_t count) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [count](const Node& node) {
    return node.crashed || node.accepted.size() == count;
  });
}

size_t Swarm::MeshReach() {
  std::vector<std::set<size_t>> neighbours(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].crashed) {
      for (const privacy::NodeId& peer : nodes_[i].core->MeshPeers()) {
        neighbours[i].insert(index_.at(peer));
      }
    }
  }
  std::set<size_t> reached = {0};
  std::vector<size_t> open = {0};
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    for (size_t next : neighbours[node]) {
      if (neighbours[next].contains(node) && reached.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return reached.size();
}

}  // namespace ruvd::test
