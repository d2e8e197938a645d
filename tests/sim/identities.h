// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "federation/core/gossip_core.h"
#include "federation/learner/contribution.h"

namespace ruvd::test {

// The identity of node `number` in every world: its key and its configuration. Made once per
// process, since keys and certificates cost more than a node's start. Not thread-safe.
struct Identity {
  privacy::NodeKey key;
  federation::GossipConfig config;  // without boot counter and seeds
};
const Identity& IdentityOf(size_t number);
// Returns that of the same node after it replaced its key.
const Identity& RotatedIdentityOf(size_t number);
// Returns the number behind an id that IdentityOf has made; nullopt for another id.
std::optional<size_t> NumberOf(const privacy::NodeId& id);

// Returns a pattern within the rules of every identity. `large` patterns have two chunks.
federation::SharedPattern WorldPattern(uint64_t content_seed, bool large);

}  // namespace ruvd::test
