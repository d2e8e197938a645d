// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "federation/gossip_core.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/withdrawal_store.h"

namespace ruvd {

// The ids of the items that `core` offers of `origin`, ascending.
std::vector<Digest> ItemsOf(const GossipCore& core, const NodeId& origin);

// Signs and stores that those of `offered` that `core` has no more were taken back, which peers may
// check; what cannot be stored is logged, as nothing is offered any more either way. `store` may be
// null: nothing is noted. Returns how many were taken back.
size_t NoteTakenBack(const std::vector<Digest>& offered, const GossipCore& core, const NodeKey& key,
                     int64_t now_ms, WithdrawalStore* store);

}  // namespace ruvd
