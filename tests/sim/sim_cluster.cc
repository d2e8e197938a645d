// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_cluster.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "federation/learner/contribution.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/sim/contributions.h"
#include "tests/sim/identities.h"
#include "tests/sim/learning.h"

namespace ruvd::test {

SimCluster::SimCluster(SimOptions options)
    : options_(std::move(options)), plan_(Learning::PlanOf("default")), random_(options_.seed) {
  nodes_.resize(options_.nodes);
  group_of_node_.assign(options_.nodes, 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].key = std::make_unique<privacy::NodeKey>(privacy::NodeKey::FromSeed(SeedOf(i)));
    Start(i);
  }
  if (options_.link_breaks_per_second > 0) {
    Schedule(std::chrono::seconds(1), [this] { BreakLinks(); });
  }
}

SimCluster::~SimCluster() = default;

federation::Instant SimCluster::now() const {
  return At(now_.time_since_epoch());
}

void SimCluster::ScheduleAt(TimePoint at, std::function<void()> run) {
  events_.push({.at = at, .order = next_order_++, .run = std::move(run)});
}

void SimCluster::Schedule(Duration after, std::function<void()> run) {
  ScheduleAt(now_ + after, std::move(run));
}

bool SimCluster::RunUntil(const std::function<bool()>& done, Duration limit) {
  const TimePoint end = now_ + limit;
  while (!events_.empty() && events_.top().at <= end) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.run();
    if (done()) {
      return true;
    }
  }
  now_ = end;
  return done();
}

void SimCluster::Run(Duration duration) {
  RunUntil([] { return false; }, duration);
}

void SimCluster::Start(size_t i) {
  Node& node = nodes_[i];
  federation::GossipConfig config = ConfigFor(*node.key, i);
  config.boot_counter = ++node.boot_counter;
  config.seeds = {AddressOf(0), AddressOf(1)};
  config.plan = plan_;
  if (options_.configure) {
    options_.configure(i, config);
  }
  auto core = federation::GossipCore::Create(std::move(config), *node.key,
                                             EntropyOf(random_.Next()), random_.Next(), now());
  RUVD_CHECK(core.ok());
  node.core = *std::move(core);
  if (node.consent) {
    auto actions = node.core->SetConsent(*node.consent, now());
    RUVD_CHECK(actions.ok());
    Apply(i, *std::move(actions));
  }
  std::vector<federation::Item> items;
  for (const auto& [id, item] : node.stored) {
    items.push_back(*federation::MakeItem(*item.envelope, *item.payload));
  }
  Apply(i, node.core->Restore(std::move(items), now()));
  const uint64_t boot = node.boot_counter;
  Schedule(
      Duration(static_cast<int64_t>(random_.Below(static_cast<uint64_t>(options_.tick.count())))),
      [this, i, boot] { TickNode(i, boot); });
}

void SimCluster::Stop(size_t i) {
  nodes_[i].core.reset();
  for (auto& [id, pipe] : pipes_) {
    for (int side = 0; side < 2; ++side) {
      if (pipe.node[side] == i && pipe.open[side]) {
        CloseSide(id, side);
      }
    }
  }
}

void SimCluster::TickNode(size_t i, uint64_t boot) {
  if (!nodes_[i].core || nodes_[i].boot_counter != boot) {
    return;
  }
  Apply(i, nodes_[i].core->OnTick(now()));
  Schedule(options_.tick, [this, i, boot] { TickNode(i, boot); });
}

void SimCluster::BreakLinks() {
  std::vector<uint64_t> open;
  for (const auto& [id, pipe] : pipes_) {
    if (pipe.open[0] && pipe.open[1]) {
      open.push_back(id);
    }
  }
  if (!open.empty() && random_.Bernoulli(options_.link_breaks_per_second)) {
    const uint64_t id = open[random_.Below(open.size())];
    pipes_.at(id).dead = true;
    EndOf(id, 0);
    EndOf(id, 1);
  }
  Schedule(std::chrono::seconds(1), [this] { BreakLinks(); });
}

void SimCluster::Apply(size_t i, federation::Actions actions) {
  for (federation::Action& action : actions) {
    if (auto* send = std::get_if<federation::SendFrame>(&action)) {
      Transmit(i, send->link, send->frame->SerializeAsString());
    } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
      const auto found = pipe_of_link_.find(close->link);
      if (found != pipe_of_link_.end()) {
        CloseSide(found->second.first, found->second.second);
      }
    } else if (auto* dial = std::get_if<federation::Dial>(&action)) {
      DialTo(i, dial->address);
    } else if (auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
      nodes_[i].stored[accepted->item.id] = accepted->item;
    } else if (auto* dropped = std::get_if<federation::ItemDropped>(&action)) {
      nodes_[i].stored.erase(dropped->id);
    }
  }
}

void SimCluster::DialTo(size_t from, const std::string& address) {
  const uint64_t boot = nodes_[from].boot_counter;
  Schedule(Delay(), [this, from, address, boot] {
    if (!nodes_[from].core || nodes_[from].boot_counter != boot) {
      return;
    }
    for (size_t to = 0; to < nodes_.size(); ++to) {
      if (AddressOf(to) == address && nodes_[to].core && Reachable(from, to)) {
        Connect(from, to, address);
        return;
      }
    }
    Apply(from, nodes_[from].core->OnDialFailed(address, now()));
  });
}

void SimCluster::Connect(size_t from, size_t to, const std::string& address) {
  const uint64_t id = next_pipe_++;
  Pipe pipe{
      .node = {from, to}, .link = {next_link_, next_link_ + 1}, .last_delivery = {now_, now_}};
  next_link_ += 2;
  pipes_[id] = pipe;
  pipe_of_link_[pipe.link[0]] = {id, 0};
  pipe_of_link_[pipe.link[1]] = {id, 1};
  Apply(to, nodes_[to].core->OnLinkOpened(pipe.link[1], "", now()));
  Apply(from, nodes_[from].core->OnLinkOpened(pipe.link[0], address, now()));
}

void SimCluster::Transmit(size_t node, federation::LinkId link, std::string bytes) {
  const auto found = pipe_of_link_.find(link);
  if (found == pipe_of_link_.end()) {
    return;
  }
  const auto [id, side] = found->second;
  Pipe& pipe = pipes_.at(id);
  const int to = 1 - side;
  std::vector<std::string> arriving;
  if (tamper_) {
    arriving = tamper_(node, pipe.node[to], std::move(bytes));
  } else {
    arriving.push_back(std::move(bytes));
  }
  for (std::string& frame : arriving) {
    const TimePoint at = std::max(now_ + Delay(), pipe.last_delivery[to]);
    pipe.last_delivery[to] = at;
    ScheduleAt(at,
               [this, pipe_id = id, to, frame = std::move(frame)] { Deliver(pipe_id, to, frame); });
  }
}

void SimCluster::Deliver(uint64_t id, int side, const std::string& bytes) {
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || found->second.dead || !found->second.open[side]) {
    return;
  }
  const size_t node = found->second.node[side];
  const federation::LinkId link = found->second.link[side];
  Mix(static_cast<uint64_t>(now_.time_since_epoch().count()));
  Mix(node);
  MixBytes(bytes);
  federation::v1::WireFrame frame;
  if (frame.ParseFromString(bytes)) {
    Apply(node, nodes_[node].core->OnFrame(link, frame, now()));
  } else {
    Apply(node, nodes_[node].core->OnBadFrame(link, now()));
  }
}

// One side closed: the other side learns of it after everything that was sent before.
void SimCluster::CloseSide(uint64_t id, int side) {
  Pipe& pipe = pipes_.at(id);
  pipe.open[side] = false;
  pipe_of_link_.erase(pipe.link[side]);
  if (!pipe.dead) {
    const TimePoint at = std::max(now_ + Delay(), pipe.last_delivery[1 - side]);
    ScheduleAt(at, [this, id, other = 1 - side] { EndOf(id, other); });
  }
}

void SimCluster::EndOf(uint64_t id, int side) {
  Pipe& pipe = pipes_.at(id);
  if (!pipe.open[side]) {
    return;
  }
  pipe.open[side] = false;
  pipe_of_link_.erase(pipe.link[side]);
  const size_t node = pipe.node[side];
  if (nodes_[node].core) {
    Apply(node, nodes_[node].core->OnLinkClosed(pipe.link[side], now()));
  }
}

void SimCluster::Partition(const std::vector<int>& group_of_node) {
  group_of_node_ = group_of_node;
  for (auto& [id, pipe] : pipes_) {
    if (!Reachable(pipe.node[0], pipe.node[1])) {
      pipe.dead = true;
    }
  }
}

void SimCluster::Heal() {
  group_of_node_.assign(nodes_.size(), 0);
}

bool SimCluster::Reachable(size_t a, size_t b) const {
  return group_of_node_[a] == group_of_node_[b];
}

Duration SimCluster::Delay() {
  const auto span = static_cast<uint64_t>((options_.delay_max - options_.delay_min).count());
  return options_.delay_min + Duration(static_cast<int64_t>(random_.Below(span + 1)));
}

void SimCluster::Mix(uint64_t value) {
  trace_ = (trace_ ^ value) * 1099511628211ULL;
}

void SimCluster::MixBytes(const std::string& bytes) {
  for (char c : bytes) {
    Mix(static_cast<uint8_t>(c));
  }
}

void SimCluster::Consent(size_t i, privacy::ConsentTier tier) {
  nodes_[i].consent = privacy::ConsentRecord::Sign(tier, now().wall_ms, *nodes_[i].key);
  auto actions = nodes_[i].core->SetConsent(*nodes_[i].consent, now());
  RUVD_CHECK(actions.ok());
  Apply(i, *std::move(actions));
}

absl::Status SimCluster::OfferContribution(size_t i, uint64_t content_seed) {
  const uint64_t round = RoundAt(*plan_, now().wall_ms);
  ASSIGN_OR_RETURN(
      federation::Actions actions,
      nodes_[i].core->OfferContribution(
          round, EncodeContribution(WorldContribution(*plan_, round, content_seed), *plan_), now(),
          privacy::ShareableKind::kDpContribution));
  Apply(i, std::move(actions));
  return absl::OkStatus();
}

absl::Status SimCluster::OfferPattern(size_t i, uint64_t content_seed) {
  ASSIGN_OR_RETURN(federation::Actions actions,
                   nodes_[i].core->OfferPattern(PatternOf(content_seed), now()));
  Apply(i, std::move(actions));
  return absl::OkStatus();
}

bool SimCluster::Converged(size_t count) const {
  const Node* first = nullptr;
  for (const Node& node : nodes_) {
    if (!node.core) {
      continue;
    }
    if (node.stored.size() != count) {
      return false;
    }
    if (first != nullptr && !std::equal(node.stored.begin(), node.stored.end(),
                                        first->stored.begin(), [](const auto& a, const auto& b) {
                                          return a.first == b.first &&
                                                 *a.second.payload == *b.second.payload;
                                        })) {
      return false;
    }
    first = &node;
  }
  return first != nullptr;
}

uint64_t SimCluster::payload_bytes_received() const {
  uint64_t total = 0;
  for (const Node& node : nodes_) {
    total += node.core ? node.core->counters().payload_bytes_received : 0;
  }
  return total;
}

}  // namespace ruvd::test
