// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of routers: they decide in microseconds, so they are small.
namespace ruvd::limits {

inline constexpr uint32_t kMaxRouterInputs = 256;
inline constexpr uint32_t kMaxScorerHidden = 256;
inline constexpr uint32_t kMaxRouterRank = 64;
// Ways of serving a request that one router chooses from.
inline constexpr size_t kMaxRoutes = 32;
// Tokens that one step commits; beyond it a route says nothing that any schedule does.
inline constexpr uint32_t kMaxRouteStep = 1U << 14;
// A hidden layer of 256 for 256 inputs has 66k parameters; 32 of those do not fit, but nobody needs
// them.
inline constexpr uint64_t kMaxRouterBytes = 1ULL << 20;
// Requests with a known outcome that one training sees.
inline constexpr size_t kMaxRouterExamples = 1U << 20;
inline constexpr int kMaxRouterEpochs = 10'000;

}  // namespace ruvd::limits
