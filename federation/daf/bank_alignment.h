// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "federation/daf/adapter_update.h"

namespace ruvd::federation {

// Returns the bank of masked share t; a boundary belongs to the bank above it.
size_t BankAt(std::span<const float> boundaries, float t);

// An update that covers a smaller share of a bank is ignored there. Otherwise a tiny overlap, for
// example from a rounded boundary, would make it one of the n updates that rules count.
inline constexpr double kMinCoverage = 0.05;

// An update, converted to one bank of the receiver's schedule.
struct AlignedBank {
  // Mean of the update over the part of the bank that the update's banks cover; empty if that part
  // is less than kMinCoverage
  std::vector<float> values;
  // The covered share of the bank's length: 0, or kMinCoverage to 1
  double coverage = 0;
};

// Converts an update to other boundaries: bank k is the mean of the update's banks over k's range
// of t, weighted by the length of the overlap. An adapter in a frame is linear in its values. So
// where a bank lies within one bank of the update, the result acts as the update does; elsewhere it
// acts as the update's mean over the bank, which is the closest in squared error over t. It is
// exact at every t where the boundaries contain those of the update. `update` must have been
// checked.
std::vector<AlignedBank> AlignBanks(const AdapterUpdate& update, std::span<const float> boundaries);

}  // namespace ruvd::federation
