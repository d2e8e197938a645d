// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "base/parallel.h"
#include "inference/gguf/types.h"

namespace ruvd::inference {

// A matrix of any format: `rows` rows of `columns` values.
struct ConversionSource {
  TensorType type = TensorType::kF32;
  std::span<const uint8_t> bytes;
  uint64_t columns = 0;
  uint64_t rows = 0;
  // Row i of the result is row source_row(i) of the source; empty: the same order.
  std::function<uint64_t(uint64_t)> source_row;
};

// Sums over all values, in double.
struct ConversionError {
  double squared_error = 0;
  double squared_values = 0;

  ConversionError& operator+=(const ConversionError& other);
  // sqrt(squared_error / squared_values); 0 for a matrix of zeros.
  double RelativeRms() const;
};

// Takes the bytes of the result in order, piece by piece.
using ByteSink = std::function<absl::Status(std::span<const uint8_t>)>;

// Converts row by row through float32, some megabytes at a time whatever the size of the matrix,
// and says what was lost. A quantised source of the wanted format is copied as it is. The bytes and
// the error do not depend on the number of threads. INVALID_ARGUMENT as Quantize, or what the sink
// returns. `columns` must be a multiple of both formats' blocks.
absl::Status ConvertTensor(const ConversionSource& source, TensorType type, ParallelRunner& runner,
                           const ByteSink& sink, ConversionError* error);

}  // namespace ruvd::inference
