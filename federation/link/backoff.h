// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/clock.h"
#include "base/random.h"

namespace ruvd::federation {

// How long to wait before attempt `attempt` (from 0) to connect again: uniform over
// [0, min(cap, kBackoffBase * 2^attempt)), "full jitter", so that a restarted seed is not
// dialled by everybody at once.
Duration BackoffDelay(int attempt, Duration cap, Random& random);

}  // namespace ruvd::federation
