// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>

#include "base/limit_use.h"
#include "federation/gossip/exchange.h"
#include "federation/limits.h"

namespace ruvd::federation {

std::vector<LimitUse> ItemExchange::Limits() const {
  const LimitCounts& counts = outbox_->counters().limits;
  return {
      {"origin_items", LimitScope::kOrigin, "patterns at once", 2.0 * limits::kMaxPatternsPerOrigin,
       0, budget_.put_off_items()},
      {"origin_bytes", LimitScope::kOrigin, "bytes at once", limits::kOriginByteBurst, 0,
       budget_.put_off_bytes()},
      {"kept_items_of_origin", LimitScope::kOrigin, "patterns", limits::kMaxPatternsPerOrigin,
       table_.items().size(), table_.crowded_out_of_origin()},
      {"kept_bytes", LimitScope::kSystem, "bytes", static_cast<double>(limits::kMaxPayloadMemory),
       table_.payload_bytes(), table_.crowded_out()},
      {"masked_items", LimitScope::kOrigin, "items of rounds that have begun", 0, 0,
       counts.masked_items},
      {"chunk_requests", LimitScope::kLink, "waiting requests", limits::kMaxChunkRequestsWaiting,
       chunks_.waiting(), counts.chunk_requests},
      {"served_bytes", LimitScope::kSystem, "bytes a second", limits::kServedBytesPerSecond, 0,
       chunks_.delayed()},
      {"served_bytes_of_link", LimitScope::kLink, "bytes a second",
       limits::kServedBytesPerSecondOfPeer, 0, chunks_.delayed_of_link()},
  };
}

}  // namespace ruvd::federation
