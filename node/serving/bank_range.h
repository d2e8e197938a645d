// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <cstddef>

#include "inference/adapter/bank.h"

namespace ruvd::serving {

// A range of t, both ends included.
struct BankRange {
  float t_min = 0;
  float t_max = 1;
};

// Returns the range of t of the timestep banks [begin, end), as adapters of their patterns serve
// it. `end` is at most inference::kTimestepBanks.
inline BankRange RangeOfBanks(size_t begin, size_t end) {
  // The largest t below a bank: 0 before the first bank, 1 after the last.
  const auto last_below = [](size_t bank) {
    if (bank == 0 || bank == inference::kTimestepBanks) {
      return bank == 0 ? 0.0F : 1.0F;
    }
    return std::nextafter(inference::kBankBoundaries.at(bank - 1), 0.0F);
  };
  return {.t_min = last_below(begin), .t_max = last_below(end)};
}

}  // namespace ruvd::serving
