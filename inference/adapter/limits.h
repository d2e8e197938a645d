// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of timestep banks and merges. The limits of every adapter are in inference/limits.h.
namespace ruvd::limits {

// An adapter has at most this many timestep banks. The masked share of a block of 16 has as many
// values.
inline constexpr size_t kMaxTimestepBanks = 16;
// With a smaller temperature a soft boundary is a step in float32.
inline constexpr float kMinBankTemperature = 1e-3F;
// A residual with a smaller weight changes the result less than rounding activations to 8 bits
// does.
inline constexpr float kMinBankWeight = 1.0F / 1024;
inline constexpr size_t kMaxRouterHidden = 256;
// Largest version number, chosen so that a later one always fits.
inline constexpr uint32_t kMaxAdapterVersion = UINT32_MAX - 1;
// Largest norm of the cores that nodes exchange, over all cores of an adapter together. A short
// training gives a norm of 1 to 8.
inline constexpr double kMaxCoreNorm = 16.0;
// The most adapters merged at a time, and the most values of the full matrix of one target: 512 MiB
// in double precision.
inline constexpr size_t kMaxMergedAdapters = 64;
inline constexpr uint64_t kMaxMergedValues = 1ULL << 26;

}  // namespace ruvd::limits
