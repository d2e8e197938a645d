// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

namespace ruvd::federation {

// What one of several may use of a common stock while the others use `others`: half of what they
// leave. One alone gets half of all, two get a third each; whoever comes next always finds some,
// however much those before it want.
constexpr uint64_t FairShare(uint64_t others, uint64_t stock) {
  return (stock - std::min(others, stock)) / 2;
}

}  // namespace ruvd::federation
