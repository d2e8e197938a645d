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
  // Row i of the result is row source_row(i) of the source. If empty, rows keep their order.
  std::function<uint64_t(uint64_t)> source_row;
};

// Sums over all values, computed in double precision.
struct ConversionError {
  double squared_error = 0;
  double squared_values = 0;

  ConversionError& operator+=(const ConversionError& other);
  // Returns sqrt(squared_error / squared_values); 0 for a matrix of zeros.
  double RelativeRms() const;
};

// Receives the bytes of the result in order, piece by piece.
using ByteSink = std::function<absl::Status(std::span<const uint8_t>)>;

// Converts row by row through float32 and adds up the rounding error in `error`. Memory stays at
// some megabytes whatever the size of the matrix. A quantised source that already has the wanted
// format is copied unchanged. Neither the bytes nor the error depend on the number of threads.
// `columns` must be a multiple of the block sizes of both formats. Errors: INVALID_ARGUMENT as for
// Quantize, or the error that the sink returns.
absl::Status ConvertTensor(const ConversionSource& source, TensorType type, ParallelRunner& runner,
                           const ByteSink& sink, ConversionError* error);

}  // namespace ruvd::inference
