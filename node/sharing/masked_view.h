// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::sharing {

// Masked rounds as a node sees them, for the operator.
struct MaskedView {
  uint64_t round = 0;   // the present one; 0: none began since the start
  int64_t next_ms = 0;  // Unix time at which the next one begins
  // Why this node takes part in none, also where others are missing; OK: it does, or said that it
  // would.
  absl::Status waits;
  size_t sums = 0;  // that count in rounds of updates now
  // The last round that this node gave a key in, or that brought it a sum; 0: there was none.
  uint64_t last_round = 0;
  size_t last_group = 0;  // members that it was drawn of
  uint32_t last_attempt = 0;
  size_t last_members = 0;  // of its sum; 0: it has none
  bool last_own = false;    // this node is one of them
  absl::Status last;        // why it brought no sum
};

}  // namespace ruvd::sharing
