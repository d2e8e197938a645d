// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/backoff.h"

#include <algorithm>

#include "federation/limits.h"

namespace ruvd::federation {

Duration BackoffDelay(int attempt, Duration cap, Random& random) {
  const int doublings = std::clamp(attempt, 0, 20);  // far above the cap, and far below overflow
  const Duration bound = std::min<Duration>(cap, limits::kBackoffBase * (1 << doublings));
  return Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(bound.count()))));
}

}  // namespace ruvd::federation
