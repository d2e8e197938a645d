// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Products of few rows: the weights are read once and unpacked in registers. See product-inl.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/panel-inl.h"
#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

// The distance in bytes between the data in use and the data being prefetched.
inline constexpr size_t kPrefetchAhead = 4096;

RUVD_INLINE void PrefetchAhead(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; i += kVectorBytes) {
    __builtin_prefetch(bytes + kPrefetchAhead + i, 0, 3);
  }
}

template <class Isa, TensorType kType, size_t kVector, size_t kEnd, size_t kRows, size_t kVectors>
RUVD_INLINE void AddVectors(const uint8_t* codes, const int8_t* x,
                            typename Isa::Ints (&sums)[kRows][kVectors]) {
  if constexpr (kVector < kEnd) {
    constexpr int kBits = Packing<kType>::kFormat.bits;
    typename Isa::Codes w[kVectors];
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      w[v] = CodeVector<Isa, kBits, kVector>(codes + v * kCodeBytes<Isa>);
    }
    AddProducts<Isa, Packing<kType>::kKind.wide>(w, x + kVector * 4, sums);
    AddVectors<Isa, kType, kVector + 1, kEnd>(codes, x, sums);
  }
}

// Adds one half (or the whole) of a block of one group.
template <class Isa, TensorType kType, size_t kHalf, size_t kRows, size_t kVectors>
RUVD_INLINE void AddHalf(const uint8_t* unit, size_t block, const TileRows& x,
                         typename Isa::Floats (&totals)[kRows][kVectors]) {
  constexpr Kind kKind = Packing<kType>::kKind;
  constexpr size_t kCount = kBlockVectors / kKind.halves;
  typename Isa::Ints sums[kRows][kVectors];
  StartSums<Isa, kKind>(x, kHalf, sums);
  AddVectors<Isa, kType, kHalf * kCount, (kHalf + 1) * kCount>(Packing<kType>::Codes(unit, block),
                                                               x.codes, sums);
  typename Isa::Floats scales[kVectors];
  RUVD_UNROLL
  for (size_t v = 0; v < kVectors; ++v) {
    scales[v] = ScaleVector<Isa, kType>(unit, block, kHalf, v * Isa::kLanes);
  }
  AddScaled<Isa>(sums, scales, x.scales, totals);
}

// Multiplies kRows rows with one group of outputs over all columns.
template <class Isa, TensorType kType, size_t kRows>
__attribute__((noinline)) void MultiplyGroup(const uint8_t* group, size_t blocks, TileRows x,
                                             float* y, size_t y_stride) {
  using P = Packing<kType>;
  constexpr size_t kVectors = kGroupVectors<Isa>;
  typename Isa::Floats totals[kRows][kVectors];
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      totals[r][v] = Isa::ZeroFloats();
    }
  }
  for (size_t b = 0; b < blocks; ++b) {
    const uint8_t* unit = P::Unit(group, b);
    PrefetchAhead(P::Codes(unit, b), P::kFormat.code_bytes);
    AddHalf<Isa, kType, 0>(unit, b, x, totals);
    if constexpr (P::kKind.halves == 2) {
      AddHalf<Isa, kType, 1>(unit, b, x, totals);
    }
    if constexpr (P::kKind.minima) {
      typename Isa::Floats minima[kVectors];
      RUVD_UNROLL
      for (size_t v = 0; v < kVectors; ++v) {
        minima[v] = MinimumVector<Isa, kType>(unit, b, v * Isa::kLanes);
      }
      SubtractMinima<Isa>(minima, x.sums, totals);
    }
    x.Advance(1, P::kKind.halves);
  }
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      Isa::StoreFloats(totals[r][v], y + r * y_stride + v * Isa::kLanes);
    }
  }
}

template <class Isa, TensorType kType>
void MultiplyGroupRows(const uint8_t* group, const PackedProduct& p, size_t row, size_t rows,
                       float* y, size_t y_stride) {
  const TileRows x = RowsAt<kType>(p.x, row / kRowGroup, row % kRowGroup, 0);
  switch (rows) {
    case 1:
      return MultiplyGroup<Isa, kType, 1>(group, p.w.blocks, x, y, y_stride);
    case 2:
      return MultiplyGroup<Isa, kType, 2>(group, p.w.blocks, x, y, y_stride);
    case 3:
      return MultiplyGroup<Isa, kType, 3>(group, p.w.blocks, x, y, y_stride);
    default:
      return MultiplyGroup<Isa, kType, 4>(group, p.w.blocks, x, y, y_stride);
  }
}

// Multiplies all rows, four at a time. The group stays in the level-1 cache for the later rows.
template <class Isa, TensorType kType>
void MultiplyDirectly(const PackedProduct& p) {
  for (size_t group = p.first_group; group < p.first_group + p.groups; ++group) {
    const uint8_t* bytes = p.w.data + group * p.w.group_bytes;
    const size_t outputs = GroupOutputs(p.w, group);
    for (size_t done = 0; done < p.rows; done += 4) {
      const size_t row = p.first_row + done;
      const size_t rows = p.rows - done < 4 ? p.rows - done : 4;
      float* y = p.y + row * p.y_stride + group * kGroupOutputs;
      if (outputs == kGroupOutputs) {
        MultiplyGroupRows<Isa, kType>(bytes, p, row, rows, y, p.y_stride);
      } else {
        float* cut = CutRowsIn(p.scratch);
        MultiplyGroupRows<Isa, kType>(bytes, p, row, rows, cut, kGroupOutputs);
        CopyCutRows(cut, rows, outputs, y, p.y_stride);
      }
    }
  }
}

// From this many rows on, a panel of unpacked codes is faster.
inline constexpr size_t kPanelRows = 8;

template <class Isa, TensorType kType>
void MultiplyType(const PackedProduct& p) {
  if (p.rows < kPanelRows) {
    MultiplyDirectly<Isa, kType>(p);
  } else {
    MultiplyByPanels<Isa, kType>(p);
  }
}

template <class Isa>
void MultiplyPacked(const PackedProduct& p) {
  switch (p.w.type) {
    case TensorType::kQ8_0:
      return MultiplyType<Isa, TensorType::kQ8_0>(p);
    case TensorType::kQ4_0:
      return MultiplyType<Isa, TensorType::kQ4_0>(p);
    case TensorType::kQ4_1:
      return MultiplyType<Isa, TensorType::kQ4_1>(p);
    case TensorType::kQ5_0:
      return MultiplyType<Isa, TensorType::kQ5_0>(p);
    case TensorType::kQ5_1:
      return MultiplyType<Isa, TensorType::kQ5_1>(p);
    case TensorType::kQ4_K:
      return MultiplyType<Isa, TensorType::kQ4_K>(p);
    case TensorType::kQ5_K:
      return MultiplyType<Isa, TensorType::kQ5_K>(p);
    case TensorType::kQ6_K:
      return MultiplyType<Isa, TensorType::kQ6_K>(p);
    default:
      return;
  }
}

}  // namespace
}  // namespace ruvd::inference
