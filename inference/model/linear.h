// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/parallel.h"
#include "inference/kernels/aligned_buffer.h"
#include "inference/kernels/packed.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// Products with the weight matrices of a file: activations are float32 and weights are decoded
// exactly. The work is divided at fixed borders, so results are equal bit for bit for any number of
// the runner's threads.

// Returns the bytes from one row of `w` to the next.
size_t RowBytes(const Matrix& w);

// Computes y (rows x w.rows) = x (rows x w.columns) times the transpose of w. The sizes of x and y
// determine the number of rows.
void Multiply(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
              std::span<float> y);

// Computes dx (rows x w.columns) = dy (rows x w.rows) times w. With `accumulate` the product is
// added to dx.
void MultiplyTransposed(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                        std::span<float> dx, bool accumulate = false);

// Decodes columns [begin, begin + count) of rows [row, row + rows) of `w`. The results of two rows
// are `count` floats apart. `begin` and `count` are whole blocks of the format.
void DecodeRows(const Matrix& w, size_t row, size_t rows, size_t begin, size_t count, float* out);

// Decodes row `row` of `w` to float32; `out` must have w.columns values.
void DecodeRow(const Matrix& w, size_t row, std::span<float> out);

// The fast path: weights keep the file's precision but are repacked for the integer kernels, and
// activations are rounded to 8 bits with one scale for each 32 values (see kernels/packed.h).
// Results are equal bit for bit on every machine, for any number of threads and rows.

// A weight matrix repacked into its own memory. Immutable after Pack; movable.
class PackedMatrix {
 public:
  // Returns whether the format has integer kernels: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K.
  static bool Supports(TensorType type);
  // Returns the memory that Pack will take for `w`: the file's bytes and, if the number of outputs
  // is a multiple of 16, at most 3 % more.
  static size_t Bytes(const Matrix& w);

  PackedMatrix() = default;
  // Repacks `w`, whose type must be supported. After each slice of a few MiB it calls `done(rows)`,
  // where `rows` is the number of leading rows that are no longer needed, so that the caller can
  // release their pages. The call is made on the calling thread, between loops of `runner`.
  static PackedMatrix Pack(ParallelRunner& runner, const Matrix& w,
                           const std::function<void(size_t rows)>& done = {});

  bool empty() const { return view_.data == nullptr; }
  TensorType type() const { return view_.type; }
  size_t outputs() const { return view_.outputs; }
  size_t columns() const { return view_.blocks * kBlockColumns; }
  // Returns the memory held, in bytes.
  size_t bytes() const { return buffer_.size(); }
  const PackedView& view() const { return view_; }

 private:
  AlignedBuffer buffer_;
  PackedView view_;
};

// Activations rounded for products with packed matrices. Can be reused: the memory is kept between
// uses. Not thread-safe.
class QuantizedRows {
 public:
  size_t rows() const { return view_.rows; }
  size_t columns() const { return view_.blocks * kBlockColumns; }
  const QuantizedView& view() const { return view_; }
  // Returns the memory held, in bytes.
  size_t bytes() const { return buffer_.size(); }

 private:
  friend void Quantize(ParallelRunner& runner, std::span<const float> x, size_t columns,
                       QuantizedRows* out);
  QuantizedOutput Shape(size_t rows, size_t columns);

  AlignedBuffer buffer_;
  QuantizedView view_;
};

// Rounds x (rows x columns; columns must be a multiple of 32). The result serves every matrix that
// these activations are multiplied with. A block with a value that is not finite gives NaN in every
// product of its row and affects no other row.
void Quantize(ParallelRunner& runner, std::span<const float> x, size_t columns, QuantizedRows* out);

// One product of a loop: y[i * y_stride + j] = sum over k of x[i][k] * w[j][k], for all rows i and
// outputs j.
struct PackedTask {
  const PackedMatrix* w = nullptr;
  float* y = nullptr;
  size_t y_stride = 0;  // at least w->outputs(); fastest if y and its rows are aligned to 64 bytes
};

// Computes all tasks in one loop of the runner. Each matrix must have as many columns as x.
void Multiply(ParallelRunner& runner, const QuantizedRows& x, std::span<const PackedTask> tasks);

}  // namespace ruvd::inference
