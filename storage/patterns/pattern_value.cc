// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_value.h"

#include <algorithm>
#include <cmath>

namespace ruvd::storage {
namespace {

double Undecayed(const PatternMerit& merit) {
  return static_cast<double>(merit.quality) *
         (1.0 + std::log2(1.0 + static_cast<double>(merit.uses)));
}

}  // namespace

double PatternRank(const PatternMerit& merit, int64_t half_life_ms) {
  return std::log2(Undecayed(merit)) +
         static_cast<double>(merit.touched_ms) / static_cast<double>(half_life_ms);
}

}  // namespace ruvd::storage
