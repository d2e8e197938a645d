// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_network.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kSegmentBytes = 1460;
// This is Linux's smallest retransmission timeout.
constexpr Duration kRetransmissionTimeout = milliseconds(200);
// 200 ms doubled six times are 12.6 s; keep-alives have given up by then.
constexpr int kMaxTries = 6;
constexpr Duration kConnectTimeout = seconds(5);
constexpr Duration kHoldTimeout = seconds(60);
// The longest time that a sender's backoff waits after a hold.
constexpr Duration kMaxResumeDelay = seconds(5);

uint64_t Mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace

uint64_t HashOfBytes(std::string_view bytes) {
  uint64_t hash = 1469598103934665603ULL ^ bytes.size();
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    hash = Mixed(hash, word);
    bytes.remove_prefix(sizeof(word));
  }
  for (const char c : bytes) {
    hash = Mixed(hash, static_cast<uint8_t>(c));
  }
  return hash;
}

Wire SimNetwork::WireOf(std::shared_ptr<const federation::v1::WireFrame> frame) {
  if (frame != last_frame_) {
    const std::string bytes = frame->SerializeAsString();
    last_frame_ = frame;
    last_wire_ = {.frame = std::move(frame),
                  .hash = HashOfBytes(bytes),
                  .bytes = static_cast<uint32_t>(bytes.size())};
  }
  return last_wire_;
}

void SimNetwork::AddNode(std::string address, NetworkEndpoint* endpoint) {
  node_of_address_[address] = nodes_.size();
  nodes_.push_back({.address = std::move(address), .endpoint = endpoint, .host = nodes_.size()});
}

federation::Mesh::Source SimNetwork::SourceOf(federation::LinkId link) const {
  federation::Mesh::Source source{};
  if (const std::optional<size_t> peer = PeerOf(link)) {
    const uint64_t address = nodes_[*peer].host + 1;  // zero is an unknown source
    std::memcpy(source.data(), &address, sizeof(address));
  }
  return source;
}

Duration SimNetwork::Delay() {
  const auto span = static_cast<uint64_t>((conditions_.delay_max - conditions_.delay_min).count());
  return conditions_.delay_min + Duration(static_cast<int64_t>(random_.Below(span + 1)));
}

std::optional<Duration> SimNetwork::RetransmissionDelay(uint32_t bytes) {
  Duration delay{};
  if (conditions_.loss <= 0) {
    return delay;
  }
  for (int tries = 0; random_.Bernoulli(conditions_.loss); ++tries) {
    if (tries == kMaxTries) {
      return std::nullopt;
    }
    ++counters_.retransmissions;
    delay += kRetransmissionTimeout * (1 << tries);
  }
  // Each round of fast retransmission may lose some of what it sends again.
  for (uint32_t segments = bytes / kSegmentBytes; segments > 0;) {
    uint32_t lost = 0;
    for (uint32_t i = 0; i < segments; ++i) {
      lost += random_.Bernoulli(conditions_.loss) ? 1 : 0;
    }
    counters_.retransmissions += lost;
    delay += lost > 0 ? 2 * Delay() : Duration(0);
    segments = lost;
  }
  return delay;
}

bool SimNetwork::Blocked(size_t from, size_t to) const {
  if (nodes_[from].clogged || nodes_[to].clogged) {
    return true;
  }
  if (!cut_ || cut_->second_side[from] == cut_->second_side[to]) {
    return false;
  }
  return cut_->second_side[from] ? cut_->second_to_first : cut_->first_to_second;
}

void SimNetwork::Dial(size_t from, const std::string& address) {
  const uint64_t process = nodes_[from].endpoint->process();
  queue_->After(Delay() + Delay(), [this, from, address, process] {
    if (nodes_[from].endpoint->process() == process) {
      TryConnect(from, address, process);
    }
  });
}

void SimNetwork::TryConnect(size_t from, const std::string& address, uint64_t process) {
  const auto found = node_of_address_.find(address);
  const bool known = found != node_of_address_.end();
  const size_t to = known ? found->second : 0;
  const bool unheard =
      known && (nodes_[to].hidden || nodes_[to].lost || Blocked(from, to) || Blocked(to, from));
  if (known && !unheard && nodes_[to].endpoint->process() != 0) {
    Connect(from, to);
    return;
  }
  queue_->After(unheard ? kConnectTimeout : Duration(0), [this, from, address, process] {
    if (nodes_[from].endpoint->process() == process) {
      nodes_[from].endpoint->DialFailed(address);
    }
  });
}

void SimNetwork::Connect(size_t from, size_t to) {
  const uint64_t id = next_pipe_++;
  const TimePoint now = queue_->now();
  Pipe pipe{.node = {from, to}, .last_arrival = {now, now}};
  pipe.place = alive_.size();
  alive_.push_back(id);
  pipes_.emplace(id, std::move(pipe));
  nodes_[from].pipes.push_back(id);
  if (to != from) {
    nodes_[to].pipes.push_back(id);
  }
  ++counters_.links;
  nodes_[to].endpoint->LinkOpened(LinkOf(id, 1), "");
  nodes_[from].endpoint->LinkOpened(LinkOf(id, 0), nodes_[to].address);
}

void SimNetwork::Send(federation::LinkId link, Wire wire) {
  const auto found = pipes_.find(link / 2);
  const int side = static_cast<int>(link % 2);
  if (found == pipes_.end() || !found->second.open[side]) {
    return;
  }
  ++counters_.frames;
  counters_.bytes += wire.bytes;
  NetworkCounters::Kind& kind =
      counters_.kinds[wire.frame ? static_cast<size_t>(wire.frame->kind_case()) : 0];
  ++kind.frames;
  kind.bytes += wire.bytes;
  Pipe& pipe = found->second;
  const int to = 1 - side;
  if (pipe.dead) {
    return;
  }
  if (Blocked(pipe.node[side], pipe.node[to])) {
    if (pipe.held[to].empty()) {
      pipe.held_since[to] = queue_->now();
    }
    pipe.held[to].push_back({.wire = std::move(wire), .end = false});
    ++counters_.held_frames;
    return;
  }
  Dispatch(found->first, pipe, to, wire);
}

void SimNetwork::Dispatch(uint64_t id, Pipe& pipe, int to, const Wire& wire) {
  const auto penalty = RetransmissionDelay(wire.bytes);
  if (!penalty) {
    ++counters_.lost_links;
    queue_->After(Duration(0), [this, id] { Lose(id); });  // not within the sender's own actions
    return;
  }
  const TimePoint at = std::max(queue_->now() + Delay() + *penalty, pipe.last_arrival[to]);
  pipe.last_arrival[to] = at;
  Launch(at, id, to, wire);
  if (conditions_.duplication > 0 && random_.Bernoulli(conditions_.duplication)) {
    ++counters_.duplicated_frames;
    Launch(at, id, to, wire);
  }
}

void SimNetwork::Launch(TimePoint at, uint64_t id, int side, const Wire& wire) {
  uint32_t flight = 0;
  if (free_flights_.empty()) {
    flight = static_cast<uint32_t>(flights_.size());
    flights_.emplace_back();
  } else {
    flight = free_flights_.back();
    free_flights_.pop_back();
  }
  flights_[flight] = {.pipe = id, .side = side, .wire = wire};
  queue_->At(at, [this, flight] { Land(flight); });
}

void SimNetwork::Land(uint32_t flight) {
  const Flight landed = std::exchange(flights_[flight], {});  // its effects move the others
  free_flights_.push_back(flight);
  Deliver(landed.pipe, landed.side, landed.wire);
}

void SimNetwork::Deliver(uint64_t id, int side, const Wire& wire) {
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || found->second.dead || !found->second.open[side]) {
    return;
  }
  const size_t node = found->second.node[side];
  if (nodes_[node].deaf && wire.frame && (wire.frame->has_push() || wire.frame->has_chunk())) {
    return;
  }
  trace_ = Mixed(trace_, static_cast<uint64_t>(queue_->now().time_since_epoch().count()));
  trace_ = Mixed(trace_, node);
  trace_ = Mixed(trace_, wire.hash);
  nodes_[node].endpoint->FrameArrived(LinkOf(id, side), wire);
}

void SimNetwork::Close(federation::LinkId link) {
  const uint64_t id = link / 2;
  const int side = static_cast<int>(link % 2);
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || !found->second.open[side]) {
    return;
  }
  Pipe& pipe = found->second;
  pipe.open[side] = false;
  const int other = 1 - side;
  if (pipe.open[other] && !pipe.dead) {
    if (Blocked(pipe.node[side], pipe.node[other])) {
      if (pipe.held[other].empty()) {
        pipe.held_since[other] = queue_->now();
      }
      pipe.held[other].push_back({.wire = {}, .end = true});
    } else {
      DispatchEnd(id, pipe, other);
    }
  }
  EraseIfClosed(id);
}

void SimNetwork::DispatchEnd(uint64_t id, Pipe& pipe, int to) {
  const TimePoint at = std::max(queue_->now() + Delay(), pipe.last_arrival[to]);
  pipe.last_arrival[to] = at;
  queue_->At(at, [this, id, to] { EndOf(id, to); });
}

void SimNetwork::EndOf(uint64_t id, int side) {
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || !found->second.open[side]) {
    return;
  }
  found->second.open[side] = false;
  NetworkEndpoint* endpoint = nodes_[found->second.node[side]].endpoint;
  EraseIfClosed(id);
  endpoint->LinkClosed(LinkOf(id, side));
}

void SimNetwork::Lose(uint64_t id) {
  EndOf(id, 0);
  EndOf(id, 1);
}

void SimNetwork::EraseIfClosed(uint64_t id) {
  const auto found = pipes_.find(id);
  if (found == pipes_.end() || found->second.open[0] || found->second.open[1]) {
    return;
  }
  for (const size_t node : found->second.node) {
    std::erase(nodes_[node].pipes, id);
  }
  const size_t place = found->second.place;
  alive_[place] = alive_.back();
  pipes_.at(alive_[place]).place = place;
  alive_.pop_back();
  pipes_.erase(id);
}

void SimNetwork::ProcessEnded(size_t node) {
  const std::vector<uint64_t> pipes = nodes_[node].pipes;  // Close changes the list
  for (const uint64_t id : pipes) {
    const Pipe& pipe = pipes_.at(id);
    Close(LinkOf(id, pipe.node[0] == node ? 0 : 1));
  }
}

void SimNetwork::MachineLost(size_t node) {
  nodes_[node].lost = true;
  const std::vector<uint64_t> pipes = nodes_[node].pipes;
  for (const uint64_t id : pipes) {
    Pipe& pipe = pipes_.at(id);
    pipe.dead = true;
    pipe.open[pipe.node[0] == node ? 0 : 1] = false;
    EraseIfClosed(id);
  }
}

void SimNetwork::MachineBack(size_t node) {
  if (!std::exchange(nodes_[node].lost, false)) {
    return;
  }
  // The peers' keep-alives reach a machine that does not know their links.
  for (const uint64_t id : nodes_[node].pipes) {
    Pipe& pipe = pipes_.at(id);
    DispatchEnd(id, pipe, pipe.open[0] ? 0 : 1);
  }
}

bool SimNetwork::BreakRandomLink() {
  if (alive_.empty()) {
    return false;
  }
  const uint64_t id = alive_[random_.Below(alive_.size())];
  Lose(id);
  return true;
}

void SimNetwork::SetCut(std::optional<Cut> cut) {
  cut_ = std::move(cut);
  ReleaseHeld();
}

void SimNetwork::SetClogged(size_t node, bool clogged) {
  nodes_[node].clogged = clogged;
  if (!clogged) {
    const std::vector<uint64_t> pipes = nodes_[node].pipes;
    for (const uint64_t id : pipes) {
      ReleaseHeldOf(id);
    }
  }
}

void SimNetwork::ReleaseHeld() {
  const std::vector<uint64_t> pipes = alive_;
  for (const uint64_t id : pipes) {
    ReleaseHeldOf(id);
  }
}

void SimNetwork::ReleaseHeldOf(uint64_t id) {
  for (int to = 0; to < 2; ++to) {
    const auto found = pipes_.find(id);
    if (found == pipes_.end()) {
      return;
    }
    Pipe& pipe = found->second;
    if (pipe.held[to].empty() || Blocked(pipe.node[1 - to], pipe.node[to])) {
      continue;
    }
    const Duration held = queue_->now() - pipe.held_since[to];
    if (held > kHoldTimeout) {
      ++counters_.lost_links;
      Lose(id);
      return;
    }
    const Duration backoff = std::min(held, kMaxResumeDelay);
    const Duration resume(
        static_cast<int64_t>(random_.Below(static_cast<uint64_t>(backoff.count()) + 1)));
    pipe.last_arrival[to] = std::max(pipe.last_arrival[to], queue_->now() + resume);
    const std::vector<Held> frames = std::exchange(pipe.held[to], {});
    for (const Held& frame : frames) {
      if (frame.end) {
        DispatchEnd(id, pipe, to);
      } else {
        Dispatch(id, pipe, to, frame.wire);
      }
    }
  }
}

std::optional<size_t> SimNetwork::PeerOf(federation::LinkId link) const {
  const auto found = pipes_.find(link / 2);
  if (found == pipes_.end()) {
    return std::nullopt;
  }
  return found->second.node[1 - link % 2];
}

}  // namespace ruvd::test
