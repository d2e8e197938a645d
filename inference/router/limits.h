// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of routers. A router decides in microseconds, so it must be small.
namespace ruvd::limits {

inline constexpr uint32_t kMaxRouterInputs = 256;
inline constexpr uint32_t kMaxScorerHidden = 256;
inline constexpr uint32_t kMaxRouterRank = 64;
// Routes that one router chooses from
inline constexpr size_t kMaxRoutes = 32;
// Tokens that one step commits. No schedule commits more.
inline constexpr uint32_t kMaxRouteStep = 1U << 14;
// Bytes of a serialised router. A hidden layer of 256 for 256 inputs has 66k parameters; 32 scorers
// of this size do not fit, which is far more than any use needs.
inline constexpr uint64_t kMaxRouterBytes = 1ULL << 20;
// Requests with a known outcome in one training
inline constexpr size_t kMaxRouterExamples = 1U << 20;
inline constexpr int kMaxRouterEpochs = 10'000;

}  // namespace ruvd::limits
