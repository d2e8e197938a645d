// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ruvd::federation {

// How often a limit kept a peer off, since the start of the node (GossipCore::Limits).
struct LimitCounts {
  uint64_t links = 0;
  uint64_t half_open_links = 0;
  uint64_t frames = 0;
  uint64_t accusations = 0;
  uint64_t revocation_parts = 0;
  uint64_t chunk_requests = 0;
  uint64_t masked_items = 0;
};

// Counters since the start of the node.
struct GossipCounters {
  LimitCounts limits;
  std::map<std::string, uint64_t> refused;         // by reason
  std::map<std::string, uint64_t> accepted_items;  // from peers, by ItemKindName
  uint64_t duplicates = 0;                         // known items and records, normal in a mesh
  uint64_t missing = 0;  // requests that a peer answered by saying that it no longer has the item
  uint64_t offered_items = 0;
  uint64_t payload_bytes_sent = 0;      // chunks
  uint64_t payload_bytes_received = 0;  // chunks, useful or not
  uint64_t reconciliations = 0;         // begun by this node
  uint64_t suspicions = 0;              // raised by this node
  uint64_t refutations = 0;             // of suspicions of this node
  uint64_t graylistings = 0;            // links ended because the peer's score fell too low
  uint64_t convictions = 0;             // of members that signed two messages under one number
  uint64_t links_relayed = 0;           // opened through a relay, by either side
  uint64_t circuits_carried = 0;        // circuits carried for other nodes
  uint64_t circuits_refused = 0;        // circuits that others asked for and this node refused
  uint64_t circuit_bytes_carried = 0;
};

}  // namespace ruvd::federation
