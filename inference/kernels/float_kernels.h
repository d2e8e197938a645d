// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {

// How far up the instruction sets the float kernels may go.
enum class FloatLevel : uint8_t {
  kBaseline,  // what every machine of the build's target has
  kAvx2,
  kBest,
};

// Fills all of the table but the integer kernels. Not thread-safe.
void FillFloatKernels(FloatLevel level, KernelTable* table);

}  // namespace ruvd::inference
