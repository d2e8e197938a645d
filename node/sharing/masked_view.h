// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::sharing {

// Masked rounds, as the operator sees them.
struct MaskedView {
  uint64_t round = 0;   // present round; 0: no round began since the start
  int64_t next_ms = 0;  // Unix time at which the next round begins
  // Why this node takes part in no round, for example because other members are missing. OK: it
  // takes part, or announced that it will.
  absl::Status waits;
  size_t sums = 0;  // masked sums in use in rounds of updates
  // The last round in which this node gave a key, or that brought it a sum; 0: no such round.
  uint64_t last_round = 0;
  size_t last_group = 0;  // nodes in the group of that round
  uint32_t last_attempt = 0;
  size_t last_members = 0;  // members of the sum; 0: there is no sum
  bool last_own = false;    // this node is one of the members
  absl::Status last;        // why the round brought no sum
};

}  // namespace ruvd::sharing
