// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/token_bucket.h"
#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "privacy/identity/node_key.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// One end of a circuit, identified by a link and the circuit's number on that link.
struct CircuitEnd {
  LinkId link = 0;
  uint32_t circuit = 0;
  auto operator<=>(const CircuitEnd&) const = default;
};

// Returns what a frame of a circuit counts as, in bytes.
size_t RelayedCost(const v1::RelayFrame& frame);

// The circuits that this node carries, each between two neighbours. It forwards frames from one to
// the other unchanged and cannot read them. Number, rate and memory are bounded; a circuit that
// exceeds its share waits, and then ends. Not thread-safe.
class CircuitTable {
 public:
  // `outbox` must outlive the table.
  CircuitTable(Outbox& outbox, TimePoint now)
      : outbox_(&outbox), rate_(limits::kRelayBytesPerSecond, limits::kRelayByteBurst, now) {}

  // Begins to carry between two ends that belong to no circuit yet. LIMIT_EXCEEDED if this node or
  // one of the links carries too many circuits, DUPLICATE_LINK if there is already one for this
  // source and target.
  absl::Status Open(CircuitEnd from, const privacy::NodeId& source, CircuitEnd to,
                    const privacy::NodeId& target, TimePoint now);
  bool Carries(CircuitEnd end) const { return of_end_.contains(end); }
  // Sends a frame from one end to the other, now or at a later Tick. LIMIT_EXCEEDED if too much
  // data waits; the caller then ends the circuit. `from` must be known.
  absl::Status Forward(CircuitEnd from, const v1::RelayFrame& frame, TimePoint now);
  // Returns whether an end can have received this many frames and has not acknowledged them before.
  bool Acknowledges(CircuitEnd end, uint64_t received) const;
  // The end has received this many frames, so more may be sent to it. Has no effect if Acknowledges
  // returns false.
  void Acknowledge(CircuitEnd end, uint64_t received, TimePoint now);
  // Forgets a circuit and returns its other end; nullopt for an unknown circuit.
  std::optional<CircuitEnd> Close(CircuitEnd end);
  // A link is gone: forgets its circuits and returns their other ends.
  std::vector<CircuitEnd> LinkDown(LinkId link);
  // Sends waiting frames that may go now. Returns the ends of unused circuits, two for each.
  std::vector<CircuitEnd> Tick(TimePoint now);

  size_t size() const { return circuits_.size(); }
  size_t queued_bytes() const { return queued_bytes_; }
  size_t CountOf(LinkId link) const;
  // Links with a circuit, ascending
  std::vector<LinkId> links() const;

 private:
  struct Direction {
    CircuitEnd to;
    std::deque<v1::WireFrame> queue;
    size_t queued_bytes = 0;
    std::deque<size_t> under_way;  // costs of frames that the other end has not acknowledged
    size_t under_way_bytes = 0;
    uint64_t acknowledged = 0;
    uint64_t next_seq = 0;  // lower frame numbers have been received
  };
  struct Circuit {
    std::array<CircuitEnd, 2> ends;
    std::array<Direction, 2> directions;  // by source: direction i starts at ends[i]
    privacy::NodeId source{};
    privacy::NodeId target{};
    TokenBucket rate;
    TimePoint used{};
  };
  // Returns the direction towards a known end.
  const Direction& Towards(CircuitEnd end) const;
  // Sends a frame if it may go now.
  bool TrySend(Circuit& circuit, Direction& direction, v1::WireFrame& frame, TimePoint now);
  void Drain(Circuit& circuit, Direction& direction, TimePoint now);
  void Erase(uint64_t id);

  Outbox* outbox_;
  TokenBucket rate_;
  std::map<uint64_t, Circuit> circuits_;
  std::map<CircuitEnd, uint64_t> of_end_;
  uint64_t next_id_ = 1;
  uint64_t last_drained_ = 0;  // the circuit that was served last
  size_t queued_bytes_ = 0;
};

}  // namespace ruvd::federation
