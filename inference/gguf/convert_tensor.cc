// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/convert_tensor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status.h"
#include "inference/gguf/quantize.h"

namespace ruvd::inference {
namespace {

// Values in one piece: enough to keep all threads busy between two writes.
constexpr uint64_t kPieceValues = uint64_t{1} << 21;
// Values in one thread's share of a piece.
constexpr uint64_t kShareValues = uint64_t{1} << 14;

struct RowResult {
  absl::Status status;
  ConversionError error;
};

class Converter {
 public:
  Converter(const ConversionSource& source, TensorType type)
      : source_(source),
        type_(type),
        source_row_bytes_(source.columns / BlockValues(source.type) * BlockBytes(source.type)),
        row_bytes_(source.columns / BlockValues(type) * BlockBytes(type)) {}

  uint64_t row_bytes() const { return row_bytes_; }

  // Converts row `row` into `out`.
  RowResult Row(uint64_t row, std::span<uint8_t> out, std::vector<float>* values,
                std::vector<float>* back) const {
    values->resize(source_.columns);
    back->resize(source_.columns);
    const uint64_t from = source_.source_row ? source_.source_row(row) : row;
    const auto bytes = source_.bytes.subspan(from * source_row_bytes_, source_row_bytes_);
    RowResult result{.status = Dequantize(source_.type, bytes, *values), .error = {}};
    if (result.status.ok() && source_.type == type_ && BlockValues(type_) > 1) {
      std::copy(bytes.begin(), bytes.end(), out.begin());
      result.error.squared_values = SquaredSum(*values);
      return result;
    }
    if (result.status.ok()) {
      result.status = QuantizeInto(type_, *values, out);
    }
    if (result.status.ok()) {
      result.status = Dequantize(type_, out, *back);
    }
    if (result.status.ok()) {
      result.error.squared_values = SquaredSum(*values);
      for (size_t i = 0; i < values->size(); ++i) {
        (*back)[i] -= (*values)[i];
      }
      result.error.squared_error = SquaredSum(*back);
    }
    return result;
  }

 private:
  static double SquaredSum(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) {
      sum += double{value} * value;
    }
    return sum;
  }

  const ConversionSource& source_;
  TensorType type_;
  uint64_t source_row_bytes_;
  uint64_t row_bytes_;
};

}  // namespace

ConversionError& ConversionError::operator+=(const ConversionError& other) {
  squared_error += other.squared_error;
  squared_values += other.squared_values;
  return *this;
}

double ConversionError::RelativeRms() const {
  return squared_values > 0 ? std::sqrt(squared_error / squared_values) : 0;
}

absl::Status ConvertTensor(const ConversionSource& source, TensorType type, ParallelRunner& runner,
                           const ByteSink& sink, ConversionError* error) {
  RUVD_CHECK(source.rows > 0 && source.columns > 0 && source.columns % BlockValues(type) == 0);
  const Converter converter(source, type);
  const uint64_t piece = std::clamp(kPieceValues / source.columns, uint64_t{1}, source.rows);
  const uint64_t share = std::max(kShareValues / source.columns, uint64_t{1});
  std::vector<uint8_t> out(piece * converter.row_bytes());
  std::vector<RowResult> results(piece);
  *error = {};
  for (uint64_t first = 0; first < source.rows; first += piece) {
    const uint64_t rows = std::min(piece, source.rows - first);
    runner.For(rows, share, [&](size_t begin, size_t end) {
      std::vector<float> values;
      std::vector<float> back;
      for (size_t i = begin; i < end; ++i) {
        const auto row = std::span(out).subspan(i * converter.row_bytes(), converter.row_bytes());
        results[i] = converter.Row(first + i, row, &values, &back);
      }
    });
    for (uint64_t i = 0; i < rows; ++i) {  // in order: the sums do not depend on the threads
      RETURN_IF_ERROR(results[i].status);
      *error += results[i].error;
    }
    RETURN_IF_ERROR(sink(std::span(out).first(rows * converter.row_bytes())));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::inference
