// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::inference {

// Outputs of a group of a packed operand.
inline constexpr size_t kRoundedGroup = 16;
// `inner` and the rows and columns that are packed are multiples of this number.
inline constexpr size_t kRoundedStep = 32;

// Computes y (rows x 16 * groups) = a (rows x inner) times b, both in bfloat16, with sums in
// float32. With `accumulate` the product is added to y.
struct RoundedProduct {
  const uint16_t* a = nullptr;
  size_t a_stride = 0;  // values between two rows
  size_t rows = 0;
  size_t inner = 0;
  const uint16_t* b = nullptr;  // packed groups, each of 16 * inner values
  size_t groups = 0;            // an even number
  float* y = nullptr;
  size_t y_stride = 0;  // floats between two rows
  bool accumulate = false;
};

// Products of matrices that are rounded to bfloat16 (8 bits of precision), for training, where the
// noise of a batch is far above that of the rounding. The sums of an output run in one order, which
// depends on `inner` only. Numbers below the smallest normal one count as zero. All are reentrant
// and need no alignment.
struct RoundedKernels {
  // Rounds n values to the nearest bfloat16, and ties to the even one; n is a multiple of 32.
  void (*round)(const float* x, size_t n, uint16_t* out) = nullptr;
  // Packs 16 rows of `columns` values as the group of a product with the transpose of b.
  void (*pack_rows)(const float* b, size_t b_stride, size_t columns, uint16_t* out) = nullptr;
  // Packs 16 columns of `rows` values as the group of a product with b.
  void (*pack_columns)(const float* b, size_t b_stride, size_t rows, uint16_t* out) = nullptr;
  void (*multiply)(const RoundedProduct& product) = nullptr;
};

}  // namespace ruvd::inference
