// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

namespace ruvd::inference {

// Ranges of the masked share t for which adapters and patterns are kept separately: [0, 0.3), [0.3,
// 0.6) and [0.6, 1]. Early steps (t near 1) decide what a text is about; late ones decide its
// wording.
enum class TimestepBank : uint8_t { kLow = 0, kMiddle = 1, kHigh = 2 };

inline constexpr int kTimestepBanks = 3;
inline constexpr std::array<float, 2> kBankBoundaries = {0.3F, 0.6F};

// Returns the bank of t. A boundary belongs to the bank above it.
constexpr TimestepBank BankOf(float t) {
  if (t < kBankBoundaries[0]) {
    return TimestepBank::kLow;
  }
  return t < kBankBoundaries[1] ? TimestepBank::kMiddle : TimestepBank::kHigh;
}

}  // namespace ruvd::inference
