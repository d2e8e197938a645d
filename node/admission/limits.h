// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>

namespace ruvd::limits {

// Lines of the log about connections that the gate of the port for peers refused, of each error
// reason in each period. A stranger can cause as many as it likes; the status counts them.
inline constexpr uint64_t kGateLogLines = 20;
inline constexpr std::chrono::minutes kGateLogPeriod{1};

}  // namespace ruvd::limits
