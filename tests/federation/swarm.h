// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Many real cores in one process that communicate over simulated links: with delay, with loss as a
// stream sees it (sent again, later), and with members that crash silently or stall for a while.
// Frames are shared, not serialised, so hundreds of nodes run for simulated minutes. One seed
// determines everything.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "federation/core/gossip_core.h"
#include "privacy/identity/node_key.h"

namespace ruvd::test {

struct SwarmOptions {
  size_t nodes = 10;
  uint64_t seed = 1;
  double loss = 0;  // chance that a frame has to be sent again, after 200 ms, 400 ms, ...
  Duration delay_min = std::chrono::milliseconds(10);
  Duration delay_max = std::chrono::milliseconds(50);
  Duration tick = std::chrono::milliseconds(200);
  std::function<void(size_t node, federation::GossipConfig& config)> configure;
  // Whether a dial gets through; all do if this is empty.
  std::function<bool(size_t from, size_t to)> can_dial;
  // How far the wall clock of a node is ahead; no clock is if this is empty.
  std::function<Duration(size_t node)> clock_ahead;
};

class Swarm {
 public:
  explicit Swarm(SwarmOptions options);

  void Run(Duration duration);
  // Runs until `done` returns true (it is called every 100 ms) or until `limit` has passed. Returns
  // whether it is done.
  bool RunUntil(const std::function<bool()>& done, Duration limit);

  // The node stops; its links stay open and swallow what is sent.
  void Crash(size_t node);
  bool alive(size_t node) const { return !nodes_[node].crashed; }
  // The node does nothing until then; what arrives waits.
  void Stall(size_t node, Duration duration);
  bool stalled(size_t node) const { return nodes_[node].stalled_until > now_; }
  // Frames between nodes of different groups are lost, dials fail. An empty vector heals.
  void Partition(std::vector<int> groups) { groups_ = std::move(groups); }

  size_t size() const { return nodes_.size(); }
  federation::GossipCore& core(size_t node) { return *nodes_[node].core; }
  const privacy::NodeId& id(size_t node) const { return nodes_[node].key->id(); }
  size_t index(const privacy::NodeId& id) const { return index_.at(id); }
  const std::set<Digest>& accepted(size_t node) const { return nodes_[node].accepted; }
  federation::Instant now() const;
  federation::Instant NowOf(size_t node) const;  // as its own clock shows it
  // Performs an input that a test gave a core itself.
  void Apply(size_t node, federation::Actions actions);
  void Share(size_t node);  // consents to the public tier
  // Sends a frame over every link of a node, in its name.
  void Broadcast(size_t node, const federation::v1::WireFrame& frame);

  // Links of a node, ascending, and a frame over one of them in its name.
  std::vector<federation::LinkId> LinksOf(size_t node) const;
  void SendFrom(size_t node, federation::LinkId link, const federation::v1::WireFrame& frame);
  // Sees every frame that reaches a node; its core does not after true.
  std::function<bool(size_t node, federation::LinkId link, const federation::v1::WireFrame& frame)>
      intercept;

  // Called for every MemberChanged that concerns another member.
  std::function<void(size_t observer, const federation::Member& member)> on_member;
  // Whether every running node holds `count` items.
  bool Converged(size_t count) const;
  // Returns the number of nodes that node 0 reaches over links that are in the mesh of both ends.
  size_t MeshReach();

 private:
  struct Node {
    std::unique_ptr<privacy::NodeKey> key;
    std::unique_ptr<federation::GossipCore> core;
    bool crashed = false;
    TimePoint stalled_until{};
    std::set<Digest> accepted;
  };
  struct End {
    size_t node = 0;
    federation::LinkId link = 0;
    TimePoint last_delivery{};
    bool open = true;
  };
  struct Pipe {
    End ends[2];
  };
  struct Event {
    TimePoint at;
    uint64_t order = 0;
    enum class Kind { kTick, kFrame, kClose, kDial } kind = Kind::kTick;
    size_t node = 0;
    federation::LinkId link = 0;
    std::shared_ptr<const federation::v1::WireFrame> frame;
    std::string address;
    bool operator>(const Event& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void Schedule(TimePoint at, Event event);
  void Handle(Event event);
  void Connect(size_t from, const std::string& address);
  void Transmit(size_t from, federation::LinkId link,
                std::shared_ptr<const federation::v1::WireFrame> frame);
  void CloseFrom(size_t node, federation::LinkId link);
  bool Reachable(size_t a, size_t b) const { return groups_.empty() || groups_[a] == groups_[b]; }
  Duration Delay();

  SwarmOptions options_;
  Random random_;
  TimePoint now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  std::map<privacy::NodeId, size_t> index_;
  std::map<std::string, size_t> by_address_;
  std::map<federation::LinkId, std::pair<std::shared_ptr<Pipe>, int>> pipes_;
  federation::LinkId next_link_ = 1;
  std::vector<int> groups_;
};

}  // namespace ruvd::test
