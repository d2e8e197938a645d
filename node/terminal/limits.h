// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

// Limits of verbs that end.
namespace ruvd::limits {

// After SIGTERM: long enough for a stream of a few hundred tokens, short enough for service
// managers, which kill after 90 s by default, and for impatient people.
inline constexpr std::chrono::seconds kDrainSeconds(15);
// Beyond the drain deadline a child hangs and is killed.
inline constexpr std::chrono::seconds kStopSeconds = kDrainSeconds + std::chrono::seconds(5);

}  // namespace ruvd::limits
