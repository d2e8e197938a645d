// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {

// The highest instruction set that the float kernels may use.
enum class FloatLevel : uint8_t {
  kBaseline,  // only what every machine of the build's target supports
  kAvx2,
  kBest,
};

// Fills the table except for the integer kernels. Not thread-safe.
void FillFloatKernels(FloatLevel level, KernelTable* table);

}  // namespace ruvd::inference
