// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/clock.h"
#include "base/random.h"

namespace ruvd::federation {

// Returns how long to wait before connection attempt `attempt` (from 0): uniform over [0, min(cap,
// kBackoffBase * 2^attempt)). This "full jitter" prevents that all nodes dial a restarted seed at
// once.
Duration BackoffDelay(int attempt, Duration cap, Random& random);

}  // namespace ruvd::federation
