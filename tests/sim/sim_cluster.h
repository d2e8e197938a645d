// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A cluster of GossipCores in one process, driven from one seed: delayed ordered links that break,
// partitions, restarts. Nothing but the seed decides what happens.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "federation/core/gossip_core.h"
#include "privacy/identity/node_key.h"

namespace ruvd::test {

struct SimOptions {
  size_t nodes = 3;
  uint64_t seed = 1;
  Duration delay_min = std::chrono::milliseconds(10);
  Duration delay_max = std::chrono::milliseconds(50);
  Duration tick = std::chrono::milliseconds(200);
  // Chance per second that one random open link breaks.
  double link_breaks_per_second = 0;
  // Changes a node's configuration before it starts.
  std::function<void(size_t node, federation::GossipConfig& config)> configure;
};

class SimCluster {
 public:
  explicit SimCluster(SimOptions options);
  ~SimCluster();

  // Runs until the simulated time has advanced by `duration`.
  void Run(Duration duration);
  // Runs until `done` returns true or `limit` has passed. Returns whether it is done.
  bool RunUntil(const std::function<bool()>& done, Duration limit);

  // Nodes of different groups do not hear each other; links between them stay dead for ever.
  void Partition(const std::vector<int>& group_of_node);
  void Heal();
  // Kills the process of a node at once.
  void Stop(size_t node);
  // Starts the node again from what it had stored, with the next boot counter.
  void Start(size_t node);
  void Restart(size_t node) {
    Stop(node);
    Start(node);
  }

  // These are inputs of a node's owner.
  void Consent(size_t node, privacy::ConsentTier tier);
  absl::Status OfferContribution(size_t node, uint64_t content_seed);  // to the running round
  absl::Status OfferPattern(size_t node, uint64_t content_seed);

  federation::GossipCore& core(size_t node) { return *nodes_[node].core; }
  size_t size() const { return nodes_.size(); }
  const std::map<Digest, federation::Item>& stored(size_t node) const {
    return nodes_[node].stored;
  }
  // Whether every running node holds `count` items and all nodes hold the same items.
  bool Converged(size_t count) const;
  federation::Instant now() const;
  // Returns a hash over every frame, its time and its path.
  uint64_t trace_hash() const { return trace_; }
  // Returns the bytes of chunks that nodes received.
  uint64_t payload_bytes_received() const;

  // May change or repeat a frame that a link carries: called for each frame, returns what arrives.
  using Tamper = std::function<std::vector<std::string>(size_t from, size_t to, std::string frame)>;
  void SetTamper(Tamper tamper) { tamper_ = std::move(tamper); }

 private:
  struct Node {
    std::unique_ptr<privacy::NodeKey> key;
    std::unique_ptr<federation::GossipCore> core;  // null while stopped
    std::map<Digest, federation::Item> stored;
    std::optional<privacy::ConsentRecord> consent;
    uint64_t boot_counter = 0;
  };
  struct Pipe {
    size_t node[2];
    federation::LinkId link[2];
    TimePoint last_delivery[2];
    bool open[2] = {true, true};
    bool dead = false;  // swallows everything, as a cut cable does
  };
  struct Event {
    TimePoint at;
    uint64_t order;
    std::function<void()> run;
    bool operator>(const Event& other) const {
      return std::tie(at, order) > std::tie(other.at, other.order);
    }
  };

  void Schedule(Duration after, std::function<void()> run);
  void ScheduleAt(TimePoint at, std::function<void()> run);
  void TickNode(size_t node, uint64_t boot);
  void BreakLinks();
  void Apply(size_t node, federation::Actions actions);
  void DialTo(size_t node, const std::string& address);
  void Connect(size_t from, size_t to, const std::string& address);
  void Transmit(size_t node, federation::LinkId link, std::string bytes);
  void Deliver(uint64_t pipe, int to_side, const std::string& bytes);
  void CloseSide(uint64_t pipe, int side);
  void EndOf(uint64_t pipe, int side);
  bool Reachable(size_t a, size_t b) const;
  Duration Delay();
  void Mix(uint64_t value);
  void MixBytes(const std::string& bytes);

  SimOptions options_;
  std::shared_ptr<const federation::LearnerPlan> plan_;
  Random random_;
  TimePoint now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Node> nodes_;
  std::map<uint64_t, Pipe> pipes_;
  std::map<federation::LinkId, std::pair<uint64_t, int>> pipe_of_link_;
  uint64_t next_pipe_ = 1;
  federation::LinkId next_link_ = 1;
  std::vector<int> group_of_node_;
  uint64_t trace_ = 1469598103934665603ULL;
  Tamper tamper_;
};

}  // namespace ruvd::test
