// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/relay/circuit_table.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

absl::Status Full(std::string_view what, size_t limit) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "relay already carries {} {}; ask another relay", limit, what);
}

}  // namespace

size_t RelayedCost(const v1::RelayFrame& frame) {
  return std::max(limits::kMinRelayedBytes, frame.opening().size() + frame.sealed().size());
}

size_t CircuitTable::CountOf(LinkId link) const {
  const auto begin = of_end_.lower_bound({.link = link, .circuit = 0});
  const auto end = of_end_.lower_bound({.link = link + 1, .circuit = 0});
  return static_cast<size_t>(std::distance(begin, end));
}

std::vector<LinkId> CircuitTable::links() const {
  std::vector<LinkId> links;
  for (const auto& [end, id] : of_end_) {
    if (links.empty() || links.back() != end.link) {
      links.push_back(end.link);
    }
  }
  return links;
}

absl::Status CircuitTable::Open(CircuitEnd from, const privacy::NodeId& source, CircuitEnd to,
                                const privacy::NodeId& target, TimePoint now) {
  RUVD_CHECK(!of_end_.contains(from) && !of_end_.contains(to));
  if (circuits_.size() >= limits::kMaxCircuits) {
    return Full("circuits", limits::kMaxCircuits);
  }
  for (const CircuitEnd& end : {from, to}) {
    if (CountOf(end.link) >= limits::kMaxCircuitsOfLink) {
      return Full("circuits of one of the links", limits::kMaxCircuitsOfLink);
    }
  }
  const bool doubled = std::ranges::any_of(circuits_, [&](const auto& entry) {
    return entry.second.source == source && entry.second.target == target;
  });
  if (doubled) {
    return Error(
        absl::StatusCode::kAlreadyExists, reasons::kDuplicateLink,
        "relay already carries a circuit between these two members; end that circuit first");
  }
  const uint64_t id = next_id_++;
  Circuit circuit{
      .ends = {from, to},
      .directions = {Direction{.to = to, .queue = {}}, {.to = from, .queue = {}}},
      .source = source,
      .target = target,
      .rate = TokenBucket(limits::kCircuitBytesPerSecond, limits::kCircuitByteBurst, now),
      .used = now};
  circuits_.emplace(id, std::move(circuit));
  of_end_[from] = id;
  of_end_[to] = id;
  return absl::OkStatus();
}

bool CircuitTable::TrySend(Circuit& circuit, Direction& direction, v1::WireFrame& frame,
                           TimePoint now) {
  const size_t bytes = RelayedCost(frame.relay_frame());
  const auto amount = static_cast<double>(bytes);
  if (direction.under_way_bytes + bytes > limits::kRelayWindowBytes || !rate_.Take(now, amount)) {
    return false;
  }
  if (!circuit.rate.Take(now, amount)) {
    rate_.Return(amount);
    return false;
  }
  direction.under_way.push_back(bytes);
  direction.under_way_bytes += bytes;
  outbox_->counters().circuit_bytes_carried += bytes;
  outbox_->Send(direction.to.link, std::move(frame));
  return true;
}

const CircuitTable::Direction& CircuitTable::Towards(CircuitEnd end) const {
  const Circuit& circuit = circuits_.at(of_end_.at(end));
  return circuit.directions[circuit.ends[0] == end ? 1 : 0];
}

bool CircuitTable::Acknowledges(CircuitEnd end, uint64_t received) const {
  if (!Carries(end)) {
    return false;
  }
  const Direction& direction = Towards(end);
  return received > direction.acknowledged &&
         received <= direction.acknowledged + direction.under_way.size();
}

void CircuitTable::Acknowledge(CircuitEnd end, uint64_t received, TimePoint now) {
  if (!Acknowledges(end, received)) {
    return;
  }
  Circuit& circuit = circuits_.at(of_end_.at(end));
  Direction& direction = circuit.directions[circuit.ends[0] == end ? 1 : 0];
  for (; direction.acknowledged < received; ++direction.acknowledged) {
    direction.under_way_bytes -= direction.under_way.front();
    direction.under_way.pop_front();
  }
  Drain(circuit, direction, now);
}

absl::Status CircuitTable::Forward(CircuitEnd from, const v1::RelayFrame& frame, TimePoint now) {
  Circuit& circuit = circuits_.at(of_end_.at(from));
  circuit.used = now;
  Direction& direction = circuit.directions[circuit.ends[0] == from ? 0 : 1];
  if (frame.seq() < direction.next_seq) {
    return absl::OkStatus();  // the network delivered it twice; the other end would count it once
  }
  direction.next_seq = frame.seq() + 1;
  v1::WireFrame out;
  v1::RelayFrame* copy = out.mutable_relay_frame();  // only fields that matter, no unknown ones
  copy->set_circuit(direction.to.circuit);
  copy->set_seq(frame.seq());
  if (frame.has_sealed()) {
    copy->set_sealed(frame.sealed());
  } else {
    copy->set_opening(frame.opening());
  }
  if (out.ByteSizeLong() > limits::kMaxFrameBytes) {  // the circuit's number may be longer there
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "a relayed frame has more than {} bytes; update the sending node",
                 limits::kMaxFrameBytes);
  }
  if (direction.queue.empty() && TrySend(circuit, direction, out, now)) {
    return absl::OkStatus();
  }
  const size_t bytes = RelayedCost(out.relay_frame());
  if (direction.queued_bytes + bytes > limits::kMaxCircuitQueueBytes ||
      queued_bytes_ + bytes > limits::kMaxRelayQueueBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "more than {} bytes wait in a circuit: it receives more than {} bytes a second, "
                 "or its other end "
                 "is slow; take another relay, or let the nodes reach each other directly",
                 limits::kMaxCircuitQueueBytes, limits::kCircuitBytesPerSecond);
  }
  direction.queued_bytes += bytes;
  queued_bytes_ += bytes;
  direction.queue.push_back(std::move(out));
  return absl::OkStatus();
}

void CircuitTable::Drain(Circuit& circuit, Direction& direction, TimePoint now) {
  while (!direction.queue.empty()) {
    const size_t bytes = RelayedCost(direction.queue.front().relay_frame());
    if (!TrySend(circuit, direction, direction.queue.front(), now)) {
      return;
    }
    direction.queue.pop_front();
    direction.queued_bytes -= bytes;
    queued_bytes_ -= bytes;
  }
}

void CircuitTable::Erase(uint64_t id) {
  const auto found = circuits_.find(id);
  for (const Direction& direction : found->second.directions) {
    queued_bytes_ -= direction.queued_bytes;
  }
  for (const CircuitEnd& end : found->second.ends) {
    of_end_.erase(end);
  }
  circuits_.erase(found);
}

std::optional<CircuitEnd> CircuitTable::Close(CircuitEnd end) {
  const auto found = of_end_.find(end);
  if (found == of_end_.end()) {
    return std::nullopt;
  }
  const Circuit& circuit = circuits_.at(found->second);
  const CircuitEnd other = circuit.ends[circuit.ends[0] == end ? 1 : 0];
  Erase(found->second);
  return other;
}

std::vector<CircuitEnd> CircuitTable::LinkDown(LinkId link) {
  std::vector<CircuitEnd> others;
  for (auto it = of_end_.lower_bound({.link = link, .circuit = 0});
       it != of_end_.end() && it->first.link == link;
       it = of_end_.lower_bound({.link = link, .circuit = 0})) {
    others.push_back(*Close(it->first));
  }
  return others;
}

std::vector<CircuitEnd> CircuitTable::Tick(TimePoint now) {
  std::vector<CircuitEnd> idle;
  std::vector<uint64_t> order;
  order.reserve(circuits_.size());
  for (const auto& [id, circuit] : circuits_) {
    order.push_back(id);
  }
  // The first circuit of a tick gets the relay's rate, so circuits take turns at being first.
  const auto first = std::ranges::upper_bound(order, last_drained_);
  std::rotate(order.begin(), first, order.end());
  if (!order.empty()) {
    last_drained_ = order.front();
  }
  for (const uint64_t id : order) {
    Circuit& circuit = circuits_.at(id);
    for (Direction& direction : circuit.directions) {
      Drain(circuit, direction, now);
    }
    if (now - circuit.used > limits::kIdleCircuit) {
      idle.insert(idle.end(), circuit.ends.begin(), circuit.ends.end());
      Erase(id);
    }
  }
  return idle;
}

}  // namespace ruvd::federation
