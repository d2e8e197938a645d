// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

namespace ruvd::federation {

// Returns how much of a common stock one user may take while the others use `others`: half of what
// they leave. A single user gets half of the stock, two users get a third each; the next user
// always finds some left, however much the earlier ones want.
constexpr uint64_t FairShare(uint64_t others, uint64_t stock) {
  return (stock - std::min(others, stock)) / 2;
}

}  // namespace ruvd::federation
