// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "inference/model/model.h"

namespace ruvd {

// Products with the weight matrices of a file: activations float32, weights decoded exactly. The
// work is divided at fixed borders, so results are equal bit for bit whatever the runner's threads.

// Bytes from one row of `w` to the next.
size_t RowBytes(const Matrix& w);

// y (rows x w.rows) = x (rows x w.columns) times w transposed. The sizes of x and y decide rows.
void Multiply(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
              std::span<float> y);

// dx (rows x w.columns) = dy (rows x w.rows) times w.
void MultiplyTransposed(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                        std::span<float> dx);

// Row `row` of `w` as float32; out has w.columns values.
void DecodeRow(const Matrix& w, size_t row, std::span<float> out);

}  // namespace ruvd
