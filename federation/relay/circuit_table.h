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
#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "federation/link/token_bucket.h"
#include "privacy/identity/node_key.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// A circuit, as one of the links that it runs over names it.
struct CircuitEnd {
  LinkId link = 0;
  uint32_t circuit = 0;
  auto operator<=>(const CircuitEnd&) const = default;
};

// What a frame of a circuit counts as, in bytes.
size_t RelayedCost(const v1::RelayFrame& frame);

// The circuits that this node carries between two neighbours each: what it cannot read goes from
// one to the other as it came. Bounded in number, rate and memory; a circuit that wants more waits,
// then ends. Not thread-safe.
class CircuitTable {
 public:
  // `outbox` outlives the table.
  CircuitTable(Outbox& outbox, TimePoint now)
      : outbox_(&outbox), rate_(limits::kRelayBytesPerSecond, limits::kRelayByteBurst, now) {}

  // Begins to carry between the two ends, which no circuit has yet. LIMIT_EXCEEDED where this node
  // or one of the links carries too many, DUPLICATE_LINK where it does for this source and target.
  absl::Status Open(CircuitEnd from, const privacy::NodeId& source, CircuitEnd to,
                    const privacy::NodeId& target, TimePoint now);
  bool Carries(CircuitEnd end) const { return of_end_.contains(end); }
  // Sends what came from one end to the other, now or with a Tick. LIMIT_EXCEEDED if too much
  // waits; the caller ends the circuit. Of ends that are known only.
  absl::Status Pass(CircuitEnd from, const v1::RelayFrame& frame, TimePoint now);
  // Whether an end can have received so many frames, and has not said so before.
  bool Acknowledges(CircuitEnd end, uint64_t received) const;
  // The end has received so many: more may go there. Without effect where the above is false.
  void Acknowledge(CircuitEnd end, uint64_t received, TimePoint now);
  // The other end of a circuit, which is forgotten; nullopt for one that is not known.
  std::optional<CircuitEnd> Close(CircuitEnd end);
  // A link is gone: the other ends of its circuits, which are forgotten.
  std::vector<CircuitEnd> LinkDown(LinkId link);
  // Sends what waited and may go. Returns the ends of circuits that nobody used, two of each.
  std::vector<CircuitEnd> Tick(TimePoint now);

  size_t size() const { return circuits_.size(); }
  size_t queued_bytes() const { return queued_bytes_; }
  size_t CountOf(LinkId link) const;
  // Links with a circuit, ascending.
  std::vector<LinkId> links() const;

 private:
  struct Direction {
    CircuitEnd to;
    std::deque<v1::Frame> queue;
    size_t queued_bytes = 0;
    std::deque<size_t> under_way;  // costs of frames that the other end did not acknowledge
    size_t under_way_bytes = 0;
    uint64_t acknowledged = 0;
    uint64_t next_seq = 0;  // frames of lower numbers came before
  };
  struct Circuit {
    std::array<CircuitEnd, 2> ends;
    std::array<Direction, 2> directions;  // from the end of the same place
    privacy::NodeId source{};
    privacy::NodeId target{};
    TokenBucket rate;
    TimePoint used{};
  };
  // The direction towards an end that is known.
  const Direction& Towards(CircuitEnd end) const;
  // Sends a frame, if it may go now.
  bool TrySend(Circuit& circuit, Direction& direction, v1::Frame& frame, TimePoint now);
  void Drain(Circuit& circuit, Direction& direction, TimePoint now);
  void Erase(uint64_t id);

  Outbox* outbox_;
  TokenBucket rate_;
  std::map<uint64_t, Circuit> circuits_;
  std::map<CircuitEnd, uint64_t> of_end_;
  uint64_t next_id_ = 1;
  uint64_t last_drained_ = 0;  // whose turn it was
  size_t queued_bytes_ = 0;
};

}  // namespace ruvd::federation
