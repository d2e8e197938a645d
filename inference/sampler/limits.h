// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Limits of sampling.
namespace ruvd::limits {

// Tokens kept from the distribution at a committed position: those above kMinCandidate, the
// likeliest first. With a vocabulary of 8192 they hold all but a few percent of the mass.
inline constexpr size_t kMaxCandidates = 32;
inline constexpr float kMinCandidate = 1e-3F;

}  // namespace ruvd::limits
