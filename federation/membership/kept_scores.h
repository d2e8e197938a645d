// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// What PeerScores remembers of peers, in a form that outlasts the process. This is a value.
struct KeptScores {
  struct Peer {
    privacy::NodeId id{};
    // As in PeerScores, at `saved_ms`; from 0
    double deliveries = 0;
    double invalid = 0;
    double misbehaviour = 0;
    double deficit = 0;
  };
  struct Graylisting {
    privacy::NodeId id{};
    // Until the peer may be linked again, in milliseconds after `saved_ms`; negative if that is
    // over, and only counts for how long the next time is
    int64_t remaining_ms = 0;
    int64_t times = 0;  // how often it was kept out
  };
  // In milliseconds since 1970: the later one of the clock by which the node goes and of its own
  // (ClusterClock). After a restart it goes by its own again, until it has heard its neighbours, so
  // the time that passed is the lesser of what the two clocks say.
  int64_t saved_ms = 0;
  std::vector<Peer> peers;                // by id, at most kMaxScores
  std::vector<Graylisting> graylistings;  // the same
};

}  // namespace ruvd::federation
