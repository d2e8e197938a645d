// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "federation/daf/adapter_update.h"

namespace ruvd::federation {

// The bank of masked share t; a boundary belongs to the bank above it.
size_t BankAt(std::span<const float> boundaries, float t);

// All boundaries of both, ascending, each once. On them both schedules are constant in every bank.
std::vector<float> CommonBoundaries(std::span<const float> a, std::span<const float> b);

// An update that covers less of a bank has no say in it: a sliver of overlap, as from a boundary
// that was rounded, would make it one of the n that rules count.
inline constexpr double kLeastCoverage = 0.05;

// An update as seen in one bank of the receiver's schedule.
struct AlignedBank {
  // Mean of the update over the part of the bank that its own banks cover; empty where that is less
  // than kLeastCoverage.
  std::vector<float> values;
  // That part of the bank's length, 0 or kLeastCoverage to 1.
  double coverage = 0;
};

// Brings an update to other boundaries: bank k is the mean of the update's banks over k's range of
// t, each weighted by how long it overlaps. An adapter in a frame is linear in its values, so the
// result acts at every t of a bank that lies within one of the update's as the update does, and
// otherwise as the update's mean over the bank: the closest there is in squared error over t. Onto
// CommonBoundaries it is exact at every t. `update` is checked.
std::vector<AlignedBank> AlignBanks(const AdapterUpdate& update, std::span<const float> boundaries);

}  // namespace ruvd::federation
