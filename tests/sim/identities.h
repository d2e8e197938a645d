// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "federation/core/gossip_core.h"

namespace ruvd::test {

// Who node `number` is, in every world: its key and what it is configured with. Made once per
// process, since keys and certificates cost more than a node's start. Not thread-safe.
struct Identity {
  privacy::NodeKey key;
  federation::GossipConfig config;  // without boot counter and seeds
};
const Identity& IdentityOf(size_t number);
// The number behind an id that IdentityOf has made; nullopt for another.
std::optional<size_t> NumberOf(const privacy::NodeId& id);

// An update and its payload, within the rules of every identity. `large` ones take two chunks.
federation::AdapterDelta WorldDelta(uint64_t content_seed, bool large);
federation::SharedPattern WorldPattern(uint64_t content_seed);

}  // namespace ruvd::test
