// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The integer products, written once in terms of `Isa`, the vectors of one instruction set
// (isa_scalar-inl.h documents its members). This file holds the steps that the products of few rows
// (direct-inl.h) and of many rows (panel-inl.h) share. Each instruction set has a source file that
// includes all three and is compiled with that set's flags. Everything is in an anonymous namespace
// and does not call the standard library, so that a function compiled for a newer machine cannot
// replace a generic one at link time.
//
// The order of operations is the same everywhere, so that all tables agree bit for bit. A block's
// sum of products is an exact integer. A fused multiply-add multiplies it by (scale of the weights
// x scale of the activations), rounded to float32, and adds it to the output's only accumulator.
// Then the minimum's term is subtracted in the same way. Blocks come in ascending order.
//
// A block of 32 columns takes eight dot products and three float operations, so these kernels reach
// at most 8/11 of the peak of the dot-product instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/kernels/packed.h"

#define RUVD_INLINE inline __attribute__((always_inline))
#ifndef RUVD_UNROLL
#define RUVD_UNROLL _Pragma("GCC unroll 16")
#endif

namespace ruvd::inference {
namespace {

// The number of vectors that hold one group's 16 outputs, and the bytes of codes in one such
// vector.
template <class Isa>
inline constexpr size_t kGroupVectors = kGroupOutputs / Isa::kLanes;
template <class Isa>
inline constexpr size_t kCodeBytes = Isa::kLanes * 4;

// The differences between formats once their codes are unpacked.
struct Kind {
  size_t halves;  // scales for each 32 columns: 1, or 2 in Q6_K
  bool minima;
  bool wide;  // codes may be up to 255
};

template <TensorType kType>
struct Packing {
  static constexpr PackedFormat kFormat = PackedFormatOf(kType);
  static constexpr Kind kKind = {kType == TensorType::kQ6_K ? 2U : 1U, kFormat.minima,
                                 kFormat.bits == 8};
  static constexpr bool kSuper = kFormat.unit_blocks == 8;

  static RUVD_INLINE const uint8_t* Unit(const uint8_t* group, size_t block) {
    constexpr size_t kBytes = kFormat.header_bytes + kFormat.unit_blocks * kFormat.code_bytes;
    return group + block / kFormat.unit_blocks * kBytes;
  }
  static RUVD_INLINE const uint8_t* Codes(const uint8_t* unit, size_t block) {
    return unit + kFormat.header_bytes + block % kFormat.unit_blocks * kFormat.code_bytes;
  }
};

// Returns vector `kVector` (of a block's eight) of codes as bytes. `codes` points at the block's
// codes, at the wanted lanes.
template <class Isa, int kBits, size_t kVector>
RUVD_INLINE typename Isa::Codes CodeVector(const uint8_t* codes) {
  if constexpr (kBits == 8) {
    return Isa::LoadCodes(codes + kVector * kVectorBytes);
  } else {
    const auto pair = Isa::LoadCodes(codes + kVector / 2 * kVectorBytes);
    const auto nibbles = Isa::template Mask<0x0F>(Isa::template Right<kVector % 2 * 4>(pair));
    if constexpr (kBits == 4) {
      return nibbles;
    } else {
      constexpr size_t kPerVector = kBits == 5 ? 8 : 4;
      constexpr int kMask = kBits == 5 ? 0x10 : 0x30;
      constexpr int kFrom = static_cast<int>(kVector % kPerVector) * (kBits - 4);
      const auto plane = Isa::LoadCodes(codes + (4 + kVector / kPerVector) * kVectorBytes);
      const auto placed = [&] {
        if constexpr (kFrom < 4) {
          return Isa::template Left<4 - kFrom>(plane);
        } else {
          return Isa::template Right<kFrom - 4>(plane);
        }
      }();
      return Isa::Or(nibbles, Isa::template Mask<kMask>(placed));
    }
  }
}

// Returns the scales of the vector of outputs that begins at `lane`, for one half of a block.
template <class Isa, TensorType kType>
RUVD_INLINE typename Isa::Floats ScaleVector(const uint8_t* unit, size_t block, size_t half,
                                             size_t lane) {
  constexpr PackedFormat kFormat = Packing<kType>::kFormat;
  if constexpr (kType == TensorType::kQ6_K) {
    const uint8_t* subs = unit + 64 + (block % 8 * 2 + half) * kGroupOutputs;
    return Isa::Mul(Isa::LoadHalves(unit + 2 * lane), Isa::LoadSigned(subs + lane));
  } else if constexpr (Packing<kType>::kSuper) {
    const uint8_t* subs = unit + 64 + block % 8 * 2 * kGroupOutputs;
    return Isa::Mul(Isa::LoadHalves(unit + 2 * lane), Isa::LoadUnsigned(subs + lane));
  } else {
    return Isa::LoadHalves(unit + block % kFormat.unit_blocks * 2 * kGroupOutputs + 2 * lane);
  }
}

template <class Isa, TensorType kType>
RUVD_INLINE typename Isa::Floats MinimumVector(const uint8_t* unit, size_t block, size_t lane) {
  const auto base = Isa::LoadHalves(unit + 2 * kGroupOutputs + 2 * lane);
  if constexpr (Packing<kType>::kSuper) {
    const uint8_t* subs = unit + 64 + (block % 8 * 2 + 1) * kGroupOutputs;
    return Isa::Mul(base, Isa::LoadUnsigned(subs + lane));
  } else {
    return base;
  }
}

// The rows of activations of a tile: pointers to the first block and row, and the number of rows in
// their group.
struct TileRows {
  const int8_t* codes;
  const float* scales;
  const float* sums;
  const int32_t* corrections;
  size_t stride;

  RUVD_INLINE void Advance(size_t blocks, size_t halves) {
    codes += blocks * stride * kBlockColumns;
    scales += blocks * stride;
    sums += blocks * stride;
    if (corrections != nullptr) {
      corrections += blocks * stride * halves;
    }
  }
};

// Sets the initial values of `kRows` x `kVectors` integer sums.
template <class Isa, Kind kKind, size_t kRows, size_t kVectors>
RUVD_INLINE void StartSums(const TileRows& x, size_t half,
                           typename Isa::Ints (&sums)[kRows][kVectors]) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    typename Isa::Ints start = Isa::ZeroInts();
    if constexpr (!kKind.minima && !(kKind.wide && Isa::kSignedWide)) {
      start = Isa::BroadcastInt(x.corrections + half * x.stride + r);
    }
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = start;
    }
  }
}

// Adds the products of one vector of four columns of `kVectors` x lanes outputs and the rows'
// activations.
template <class Isa, bool kWide, size_t kRows, size_t kVectors>
RUVD_INLINE void AddProducts(const typename Isa::Codes (&codes)[kVectors], const int8_t* x,
                             typename Isa::Ints (&sums)[kRows][kVectors]) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    const auto four = Isa::BroadcastFour(x + r * kBlockColumns);
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = Isa::template Dot<kWide>(sums[r][v], codes[v], four);
    }
  }
}

template <class Isa, size_t kRows, size_t kVectors>
RUVD_INLINE void AddScaled(const typename Isa::Ints (&sums)[kRows][kVectors],
                           const typename Isa::Floats (&scales)[kVectors], const float* x_scales,
                           typename Isa::Floats (&totals)[kRows][kVectors]) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    const auto x_scale = Isa::BroadcastFloat(x_scales + r);
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      totals[r][v] =
          Isa::MulAdd(Isa::ToFloats(sums[r][v]), Isa::Mul(scales[v], x_scale), totals[r][v]);
    }
  }
}

template <class Isa, size_t kRows, size_t kVectors>
RUVD_INLINE void SubtractMinima(const typename Isa::Floats (&minima)[kVectors], const float* x_sums,
                                typename Isa::Floats (&totals)[kRows][kVectors]) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    const auto x_sum = Isa::BroadcastFloat(x_sums + r);
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      totals[r][v] = Isa::NegMulAdd(minima[v], x_sum, totals[r][v]);
    }
  }
}

// Returns the rows of group `row_group` from block `block` and row `row` on.
template <TensorType kType>
RUVD_INLINE TileRows RowsAt(const QuantizedView& x, size_t row_group, size_t row, size_t block) {
  constexpr PackedFormat kFormat = Packing<kType>::kFormat;
  const size_t left = x.rows - row_group * kRowGroup;
  const size_t stride = left < kRowGroup ? left : kRowGroup;
  const size_t base = row_group * kRowGroup * x.blocks + block * stride;
  TileRows rows{.codes = x.codes + (base + row) * kBlockColumns,
                .scales = x.scales + base + row,
                .sums = x.sums + base + row,
                .corrections = nullptr,
                .stride = stride};
  if constexpr (kFormat.zero_point == 32) {
    rows.corrections =
        x.half_corrections + 2 * (row_group * kRowGroup * x.blocks + block * stride) + row;
  } else if constexpr (kFormat.zero_point != 0) {
    constexpr size_t kIndex = kFormat.zero_point == 8 ? 0 : kFormat.zero_point == 16 ? 1 : 2;
    rows.corrections = x.corrections[kIndex] + base + row;
  }
  return rows;
}

// Returns how many outputs of group `group` exist.
RUVD_INLINE size_t GroupOutputs(const PackedView& w, size_t group) {
  const size_t left = w.outputs - group * kGroupOutputs;
  return left < kGroupOutputs ? left : kGroupOutputs;
}

}  // namespace
}  // namespace ruvd::inference
