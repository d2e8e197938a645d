// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// Finds TCP ports of 127.0.0.1 without a listener. A process that starts at the same time may take
// a port before the caller binds it; to make this rare, the ports lie below those that the system
// gives to outgoing connections, and every process begins its search at a random one. Not safe for
// use from several threads.
class FreePorts {
 public:
  FreePorts();

  // Returns `wanted` if that is free and not 0, else a free port that was not returned before.
  absl::StatusOr<uint16_t> Take(uint16_t wanted);

 private:
  uint16_t next_;
};

}  // namespace ruvd::cli
