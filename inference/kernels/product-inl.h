// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Included once per instruction set by kernels.cc. Computes the two matrix products in register
// tiles.
#if defined(RUVD_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUVD_KERNELS_PRODUCT_INL_H_
#undef RUVD_KERNELS_PRODUCT_INL_H_
#else
#define RUVD_KERNELS_PRODUCT_INL_H_
#endif

#include <hwy/highway.h>

#include "inference/kernels/decode-inl.h"
#include "inference/kernels/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace ruvd::inference {
namespace HWY_NAMESPACE {

// The rows of a, and the outputs or vectors of y, that one tile keeps in registers: 24 or 16
// accumulators if there are 32 registers (AVX-512, NEON), 12 or 8 if there are 16.
inline constexpr size_t kTileRows = 4;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr size_t kTileOutputs = 6;
inline constexpr size_t kTileVectors = 4;
#else
inline constexpr size_t kTileOutputs = 3;
inline constexpr size_t kTileVectors = 2;
#endif

// Computes kRows x kOutputs dot products. Lanes are summed at the end; the part of a row that does
// not fill a vector is added last.
template <class Row, size_t kRows, size_t kOutputs>
HWY_NOINLINE void DotTile(const float* a, size_t a_stride, const uint8_t* b, size_t b_stride,
                          size_t columns, float* y, size_t y_stride) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatVector sums[kRows][kOutputs];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (size_t j = 0; j < kOutputs; ++j) {
      sums[i][j] = hn::Zero(d);
    }
  }
  size_t k = 0;
  for (; k + lanes <= columns; k += lanes) {
    FloatVector av[kRows];
    HWY_UNROLL(8)
    for (size_t i = 0; i < kRows; ++i) {
      av[i] = hn::LoadU(d, a + i * a_stride + k);
    }
    HWY_UNROLL(8)
    for (size_t j = 0; j < kOutputs; ++j) {
      const FloatVector bv = Row::Vector(b + j * b_stride, k);
      HWY_UNROLL(8)
      for (size_t i = 0; i < kRows; ++i) {
        sums[i][j] = hn::MulAdd(av[i], bv, sums[i][j]);
      }
    }
  }
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t j = 0; j < kOutputs; ++j) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
      for (size_t c = k; c < columns; ++c) {
        sum += a[i * a_stride + c] * Row::Scalar(b + j * b_stride, c);
      }
      y[i * y_stride + j] = sum;
    }
  }
}

// Multiplies kRows rows of a with all outputs.
template <class Row, size_t kRows>
HWY_INLINE void DotRows(const float* a, const ProductAbt& p, const uint8_t* b, size_t b_stride,
                        size_t outputs, float* y) {
  // For a single row, more outputs at once are needed to hide the latency of the multiply-adds.
  constexpr size_t kOutputs = kRows == 1 ? 8 : kTileOutputs;
  size_t j = 0;
  for (; j + kOutputs <= outputs; j += kOutputs) {
    DotTile<Row, kRows, kOutputs>(a, p.a_stride, b + j * b_stride, b_stride, p.columns, y + j,
                                  p.y_stride);
  }
  for (; j < outputs; ++j) {
    DotTile<Row, kRows, 1>(a, p.a_stride, b + j * b_stride, b_stride, p.columns, y + j, p.y_stride);
  }
}

// Multiplies all rows of a with `outputs` rows of b.
template <class Row>
HWY_INLINE void DotAllRows(const ProductAbt& p, const uint8_t* b, size_t b_stride, size_t outputs,
                           float* y) {
  size_t i = 0;
  for (; i + kTileRows <= p.rows; i += kTileRows) {
    DotRows<Row, kTileRows>(p.a + i * p.a_stride, p, b, b_stride, outputs, y + i * p.y_stride);
  }
  const float* a = p.a + i * p.a_stride;
  y += i * p.y_stride;
  switch (p.rows - i) {
    case 3:
      return DotRows<Row, 3>(a, p, b, b_stride, outputs, y);
    case 2:
      return DotRows<Row, 2>(a, p, b, b_stride, outputs, y);
    case 1:
      return DotRows<Row, 1>(a, p, b, b_stride, outputs, y);
    default:
      return;
  }
}

// For few rows, decodes in registers and writes nothing but y. For more rows, decodes as many rows
// of b as the panel holds (it stays in the level-2 cache), then multiplies all rows of a with it.
template <class Row>
HWY_INLINE void MultiplyDecoded(const ProductAbt& p) {
  if (p.rows <= kTileRows) {
    return DotAllRows<Row>(p, p.b, p.b_stride, p.outputs, p.y);
  }
  const size_t panel_rows = p.panel_floats / p.columns;
  for (size_t j = 0; j < p.outputs; j += panel_rows) {
    const size_t count = HWY_MIN(panel_rows, p.outputs - j);
    for (size_t r = 0; r < count; ++r) {
      DecodeRow<Row>(p.b + (j + r) * p.b_stride, p.columns, p.panel + r * p.columns);
    }
    DotAllRows<F32Row>(p, reinterpret_cast<const uint8_t*>(p.panel), p.columns * sizeof(float),
                       count, p.y + j);
  }
}

inline void MultiplyAbt(const ProductAbt& p) {
  switch (p.b_type) {
    case TensorType::kF16:
      return MultiplyDecoded<F16Row>(p);
    case TensorType::kBF16:
      return MultiplyDecoded<BF16Row>(p);
    case TensorType::kQ8_0:
      return MultiplyDecoded<Q8Row>(p);
    case TensorType::kQ4_0:
      return MultiplyDecoded<Q4Row>(p);
    default:
      return DotAllRows<F32Row>(p, p.b, p.b_stride, p.outputs, p.y);
  }
}

// Computes kRows x (kVectors vectors) of y as a sum of outer products.
template <size_t kRows, size_t kVectors>
HWY_NOINLINE void OuterTile(const float* a, size_t a_stride, size_t inner, const float* b,
                            size_t b_stride, float* y, size_t y_stride, bool accumulate) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  FloatVector sums[kRows][kVectors];
  HWY_UNROLL(8)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      sums[i][v] = accumulate ? hn::LoadU(d, y + i * y_stride + v * lanes) : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < inner; ++k) {
    FloatVector bv[kVectors];
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      bv[v] = hn::LoadU(d, b + k * b_stride + v * lanes);
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kRows; ++i) {
      const FloatVector av = hn::Set(d, a[i * a_stride + k]);
      HWY_UNROLL(8)
      for (size_t v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(av, bv[v], sums[i][v]);
      }
    }
  }
  HWY_UNROLL(8)
  for (size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[i][v], d, y + i * y_stride + v * lanes);
    }
  }
}

// Computes kVectors vectors of columns from `c` on, for all rows. That part of b stays in the
// level-1 cache.
template <size_t kVectors>
HWY_INLINE void OuterColumns(const ProductAb& p, size_t c) {
  size_t i = 0;
  for (; i + kTileRows <= p.rows; i += kTileRows) {
    OuterTile<kTileRows, kVectors>(p.a + i * p.a_stride, p.a_stride, p.inner, p.b + c, p.b_stride,
                                   p.y + i * p.y_stride + c, p.y_stride, p.accumulate);
  }
  for (; i < p.rows; ++i) {
    OuterTile<1, kVectors>(p.a + i * p.a_stride, p.a_stride, p.inner, p.b + c, p.b_stride,
                           p.y + i * p.y_stride + c, p.y_stride, p.accumulate);
  }
}

inline void MultiplyAb(const ProductAb& p) {
  const size_t lanes = hn::Lanes(Floats());
  size_t c = 0;
  for (; c + kTileVectors * lanes <= p.columns; c += kTileVectors * lanes) {
    OuterColumns<kTileVectors>(p, c);
  }
  for (; c + lanes <= p.columns; c += lanes) {
    OuterColumns<1>(p, c);
  }
  for (; c < p.columns; ++c) {
    for (size_t i = 0; i < p.rows; ++i) {
      float sum = p.accumulate ? p.y[i * p.y_stride + c] : 0.0F;
      for (size_t k = 0; k < p.inner; ++k) {
        sum += p.a[i * p.a_stride + k] * p.b[k * p.b_stride + c];
      }
      p.y[i * p.y_stride + c] = sum;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ruvd::inference
HWY_AFTER_NAMESPACE();

#endif
