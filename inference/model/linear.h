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

// Products with the weight matrices of a file: activations float32, weights decoded exactly. The
// work is divided at fixed borders, so results are equal bit for bit whatever the runner's threads.

// Bytes from one row of `w` to the next.
size_t RowBytes(const Matrix& w);

// y (rows x w.rows) = x (rows x w.columns) times w transposed. The sizes of x and y decide rows.
void Multiply(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
              std::span<float> y);

// dx (rows x w.columns) = dy (rows x w.rows) times w; added to dx with `accumulate`.
void MultiplyTransposed(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                        std::span<float> dx, bool accumulate = false);

// Row `row` of `w` as float32; out has w.columns values.
void DecodeRow(const Matrix& w, size_t row, std::span<float> out);

// The fast path: weights as they are in the file, repacked for the integer kernels; activations
// rounded to 8 bits with one scale for 32 values (kernels/packed.h says how). Results are equal bit
// for bit on every machine, for any number of threads and rows.

// A weight matrix repacked into memory of its own. Immutable after Pack; movable.
class PackedMatrix {
 public:
  // Formats with integer kernels: Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K.
  static bool Supports(TensorType type);
  // Memory that Pack will take for `w`: the file's bytes and at most 3 % more, for outputs that are
  // a multiple of 16.
  static size_t Bytes(const Matrix& w);

  PackedMatrix() = default;
  // Repacks `w`, whose type must be supported. After each slice of a few MiB calls
  // `done(rows)` with the number of leading rows that are not needed any more, so that a caller can
  // give their pages back; it is called between loops of `runner`, on the calling thread.
  static PackedMatrix Pack(ParallelRunner& runner, const Matrix& w,
                           const std::function<void(size_t rows)>& done = {});

  bool empty() const { return view_.data == nullptr; }
  TensorType type() const { return view_.type; }
  size_t outputs() const { return view_.outputs; }
  size_t columns() const { return view_.blocks * kBlockColumns; }
  // Memory held.
  size_t bytes() const { return buffer_.size(); }
  const PackedView& view() const { return view_; }

 private:
  AlignedBuffer buffer_;
  PackedView view_;
};

// Activations rounded for the products with packed matrices. Reusable: keeps its memory from one
// use to the next. Not thread-safe.
class QuantizedRows {
 public:
  size_t rows() const { return view_.rows; }
  size_t columns() const { return view_.blocks * kBlockColumns; }
  const QuantizedView& view() const { return view_; }
  // Memory held.
  size_t bytes() const { return buffer_.size(); }

 private:
  friend void Quantize(ParallelRunner& runner, std::span<const float> x, size_t columns,
                       QuantizedRows* out);
  QuantizedOutput Shape(size_t rows, size_t columns);

  AlignedBuffer buffer_;
  QuantizedView view_;
};

// Rounds x (rows x columns, columns a multiple of 32). One result serves every matrix that these
// activations are multiplied with. A block with a value that is not finite gives NaN in every
// product of its row, and nothing else.
void Quantize(ParallelRunner& runner, std::span<const float> x, size_t columns, QuantizedRows* out);

// One product of a region: y[i * y_stride + j] = sum over k of x[i][k] * w[j][k], for all rows i
// and outputs j.
struct PackedTask {
  const PackedMatrix* w = nullptr;
  float* y = nullptr;
  size_t y_stride = 0;  // at least w->outputs(); fastest with y and the rows at borders of 64 bytes
};

// All tasks, each with as many columns as x, in one loop of the runner.
void Multiply(ParallelRunner& runner, const QuantizedRows& x, std::span<const PackedTask> tasks);

}  // namespace ruvd::inference
