// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "bench/ann_data.h"
#include "bench/ann_engine.h"

namespace ruvd::bench {

struct LoadOptions {
  size_t searchers = 1;  // threads
  double puts_per_s = 5000;
  double seconds = 5;  // of each measurement
  size_t k = 10;
  size_t ef = 64;
};

// Prints how long searches take on the clock: alone, and beside a writer that replaces rows at the
// rate given and links and repairs in the time that is left to it. Searchers and writer together
// should not be more than there are cores.
void MeasureLoad(const Matrix& queries, RuvdIndex& index, size_t rows, const LoadOptions& options);

}  // namespace ruvd::bench
