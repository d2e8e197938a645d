// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "federation/events/actions.h"
#include "federation/gossip/mesh.h"
#include "tests/sim/event_queue.h"

namespace ruvd::test {

// A frame in transit: one parsed copy for all receivers.
struct Wire {
  std::shared_ptr<const federation::v1::WireFrame> frame;  // null: bytes that are no frame
  uint64_t hash = 0;                                       // of its bytes
  uint32_t bytes = 0;
};

// A fast hash that is not secure: for traces.
uint64_t HashOfBytes(std::string_view bytes);

// The interface that the network calls. A running process takes its inputs, or keeps them while it
// is stopped.
class NetworkEndpoint {
 public:
  virtual ~NetworkEndpoint() = default;
  virtual void LinkOpened(federation::LinkId link, const std::string& dialed_address) = 0;
  virtual void DialFailed(const std::string& address) = 0;
  virtual void FrameArrived(federation::LinkId link, const Wire& wire) = 0;
  virtual void LinkClosed(federation::LinkId link) = 0;
  // Returns 0 while there is no process, otherwise a number that differs from start to start.
  virtual uint64_t process() const = 0;
};

struct NetworkConditions {
  Duration delay_min = std::chrono::milliseconds(10);
  Duration delay_max = std::chrono::milliseconds(50);
  double loss = 0;         // chance of a segment of 1460 bytes
  double duplication = 0;  // chance that a frame arrives twice
};

struct NetworkCounters {
  uint64_t frames = 0;
  uint64_t bytes = 0;
  uint64_t retransmissions = 0;
  uint64_t duplicated_frames = 0;
  uint64_t held_frames = 0;  // held by a partition or a clog
  uint64_t lost_links = 0;   // given up after retransmissions or a hold
  uint64_t links = 0;
  // Frames and their bytes, by the field of WireFrame that they fill; 0 stands for bytes that are
  // no frame.
  struct Kind {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  std::array<Kind, 32> kinds{};
};

// A cut of the network: a frame from a node of one side to a node of the other is held.
struct Cut {
  std::vector<bool> second_side;  // by node
  bool first_to_second = true;
  bool second_to_first = true;
};

// Links between nodes as they look above TCP: reliable ordered streams with a random delay for
// every frame, so that frames overtake each other on different links only. A lost segment is
// therefore not a lost frame: the last segment of a frame waits for the retransmission timer (200
// ms, doubling), an earlier one for a round trip, and what follows waits behind it; after six tries
// the link is lost, and both sides learn of it. What a cut or a clog holds arrives after it, late
// by the sender's backoff, unless it was held for more than a minute: then the link is lost.
// Bandwidth is not modelled. Every random draw comes from the one seed. Not thread-safe.
class SimNetwork {
 public:
  SimNetwork(EventQueue& queue, uint64_t seed) : queue_(&queue), random_(seed) {}

  // Nodes are numbered in the order in which they are added. `endpoint` must outlive the network.
  void AddNode(std::string address, NetworkEndpoint* endpoint);
  NetworkConditions& conditions() { return conditions_; }
  const NetworkCounters& counters() const { return counters_; }

  // From now on no dial reaches this node, as behind a firewall; its own dials succeed.
  void Hide(size_t node) { nodes_[node].hidden = true; }
  // From now on links of this node come from the address of another one.
  void MoveBehind(size_t node, size_t other) { nodes_[node].host = other; }
  // Returns the source that the other end of an open link has, as transport::SourceOf does.
  federation::Mesh::Source SourceOf(federation::LinkId link) const;
  void Dial(size_t from, const std::string& address);
  void Send(federation::LinkId link, Wire wire);
  // One side closes: the other side learns of it after everything that was sent before.
  void Close(federation::LinkId link);
  // The process of a node was killed: its machine closes its links.
  void ProcessEnded(size_t node);
  // The machine of a node lost power: it sends nothing and receives nothing until it is back.
  void MachineLost(size_t node);
  void MachineBack(size_t node);

  // Breaks an open link at random. Returns false if no link is open.
  bool BreakRandomLink();
  // Replaces the cut. Frames that the old cut held are sent.
  void SetCut(std::optional<Cut> cut);
  // Stops every link of a node, or lets them run again.
  void SetClogged(size_t node, bool clogged);
  // From now on only frames that open and keep a link reach this node: a seeded defect.
  void Deafen(size_t node) { nodes_[node].deaf = true; }
  // Whether frames from one node to another are held.
  bool Blocked(size_t from, size_t to) const;

  // Returns the node at the other end; nullopt once the link is gone.
  std::optional<size_t> PeerOf(federation::LinkId link) const;
  // Returns a hash over every delivered frame, its time and its path.
  uint64_t trace_hash() const { return trace_; }
  // A frame that goes over several links is encoded once.
  Wire WireOf(std::shared_ptr<const federation::v1::WireFrame> frame);

 private:
  struct Held {
    Wire wire;
    bool end = false;  // the other side closed
  };
  struct Pipe {
    size_t node[2] = {0, 0};
    bool open[2] = {true, true};
    bool dead = false;  // swallows everything, because one machine is gone
    TimePoint last_arrival[2];
    std::vector<Held> held[2];  // for that side
    TimePoint held_since[2];
    size_t place = 0;  // in alive_
  };
  // A frame in flight, kept here so that its event is no more than a number.
  struct Flight {
    uint64_t pipe = 0;
    int side = 0;
    Wire wire;
  };
  struct Node {
    std::string address;
    NetworkEndpoint* endpoint = nullptr;
    size_t host = 0;  // the node whose address it has
    bool clogged = false;
    bool lost = false;
    bool deaf = false;
    bool hidden = false;
    std::vector<uint64_t> pipes;
  };

  static federation::LinkId LinkOf(uint64_t pipe, int side) {
    return 2 * pipe + static_cast<uint64_t>(side);
  }
  void TryConnect(size_t from, const std::string& address, uint64_t process);
  void Connect(size_t from, size_t to);
  void Dispatch(uint64_t id, Pipe& pipe, int to, const Wire& wire);
  void DispatchEnd(uint64_t id, Pipe& pipe, int to);
  void Launch(TimePoint at, uint64_t id, int side, const Wire& wire);
  void Land(uint32_t flight);
  void Deliver(uint64_t id, int side, const Wire& wire);
  void EndOf(uint64_t id, int side);
  void Lose(uint64_t id);
  void EraseIfClosed(uint64_t id);
  void ReleaseHeld();
  void ReleaseHeldOf(uint64_t id);
  Duration Delay();
  // Returns the delay that loss costs a frame; nullopt means that the link is given up.
  std::optional<Duration> RetransmissionDelay(uint32_t bytes);

  EventQueue* queue_;
  Random random_;
  NetworkConditions conditions_;
  NetworkCounters counters_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, size_t> node_of_address_;
  std::unordered_map<uint64_t, Pipe> pipes_;
  std::vector<Flight> flights_;
  std::vector<uint32_t> free_flights_;
  std::vector<uint64_t> alive_;  // ids of pipes_, in an order that the seed decides
  uint64_t next_pipe_ = 1;
  std::optional<Cut> cut_;
  uint64_t trace_ = 1469598103934665603ULL;
  std::shared_ptr<const federation::v1::WireFrame> last_frame_;
  Wire last_wire_;
};

}  // namespace ruvd::test
