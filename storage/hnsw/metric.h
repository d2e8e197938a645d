// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::storage {

// What "near" means. The numbers are stored in checkpoints: never change or reuse them.
enum class HnswMetric : uint8_t {
  kCosine = 1,  // the angle; norms do not count
  kDot = 2,     // the inner product
  kL2 = 3,      // the Euclidean distance
};

}  // namespace ruvd::storage
