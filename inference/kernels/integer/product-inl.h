// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The integer products, written once in terms of `Isa`, the vectors of one instruction set
// (isa_scalar-inl.h documents its members). Each instruction set has a source file that includes
// this one and is compiled with that set's flags. Everything here is in an anonymous namespace and
// does not call the standard library, so that a function compiled for a newer machine cannot
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

// A panel: the codes, one byte each, of up to kPanelGroups groups and kPanelBlocks blocks, with
// their scales in float32. Each group has the space of a full panel.
struct Panel {
  uint8_t* codes;  // [group][block][vector][64]
  float* scales;   // [group][block][half][16], with space for two halves
  float* minima;   // [group][block][16]
};
inline constexpr size_t kPanelCodeBytes = kPanelBlocks * kBlockVectors * kVectorBytes;
inline constexpr size_t kPanelScales = kPanelBlocks * 2 * kGroupOutputs;
inline constexpr size_t kPanelMinima = kPanelBlocks * kGroupOutputs;

RUVD_INLINE Panel PanelIn(uint8_t* scratch) {
  uint8_t* scales = scratch + kPanelGroups * kPanelCodeBytes;
  uint8_t* minima = scales + kPanelGroups * kPanelScales * sizeof(float);
  return {scratch, reinterpret_cast<float*>(scales), reinterpret_cast<float*>(minima)};
}

// Two areas follow the panel in the scratch: the sums of a panel's rows between two runs of
// columns, and the results of a last group with fewer than 16 outputs. y itself is written only
// once; otherwise two threads that write neighbouring outputs would compete for the cache lines
// between them.
RUVD_INLINE float* PartialSumsIn(uint8_t* scratch) {
  return PanelIn(scratch).minima + kPanelGroups * kPanelMinima;
}
RUVD_INLINE float* CutRowsIn(uint8_t* scratch) {
  return PartialSumsIn(scratch) + kMaxProductRows * kPanelGroups * kGroupOutputs;
}

// Where a tile's sums start and where they go: rows of floats with a stride. If `from` is null, the
// sums start at zero.
struct TileSums {
  const float* from;
  size_t from_stride;
  float* to;
  size_t to_stride;

  RUVD_INLINE TileSums At(size_t row, size_t output) const {
    return {from == nullptr ? nullptr : from + row * from_stride + output, from_stride,
            to + row * to_stride + output, to_stride};
  }
};

template <class Isa, int kBits, size_t kVector>
RUVD_INLINE void UnpackVectors(const uint8_t* codes, uint8_t* out) {
  if constexpr (kVector < kBlockVectors) {
    Isa::StoreCodes(CodeVector<Isa, kBits, kVector>(codes), out + kVector * kVectorBytes);
    UnpackVectors<Isa, kBits, kVector + 1>(codes, out);
  }
}

// Unpacks blocks [first, first + blocks) of one group into group `index` of the panel.
template <class Isa, TensorType kType>
void UnpackGroup(const uint8_t* group, size_t first, size_t blocks, const Panel& panel,
                 size_t index) {
  using P = Packing<kType>;
  uint8_t* codes = panel.codes + index * kPanelCodeBytes;
  float* scales = panel.scales + index * kPanelScales;
  float* minima = panel.minima + index * kPanelMinima;
  for (size_t b = 0; b < blocks; ++b) {
    const uint8_t* unit = P::Unit(group, first + b);
    const uint8_t* packed = P::Codes(unit, first + b);
    for (size_t lane = 0; lane < kGroupOutputs; lane += Isa::kLanes) {
      UnpackVectors<Isa, P::kFormat.bits, 0>(packed + lane * 4, codes + lane * 4);
      for (size_t half = 0; half < P::kKind.halves; ++half) {
        Isa::StoreFloats(ScaleVector<Isa, kType>(unit, first + b, half, lane),
                         scales + half * kGroupOutputs + lane);
      }
      if constexpr (P::kKind.minima) {
        Isa::StoreFloats(MinimumVector<Isa, kType>(unit, first + b, lane), minima + lane);
      }
    }
    codes += kBlockVectors * kVectorBytes;
    scales += P::kKind.halves * kGroupOutputs;
    minima += kGroupOutputs;
  }
}

// Return the group and the lane in the panel of vector v of a tile. The tile begins at group 0 of
// the panel it is given.
template <class Isa>
RUVD_INLINE size_t PanelGroupOf(size_t v) {
  return v / kGroupVectors<Isa>;
}
template <class Isa>
RUVD_INLINE size_t PanelLaneOf(size_t v) {
  return v % kGroupVectors<Isa> * Isa::kLanes;
}

// Loads the scales or minima of a tile's outputs. `stride` is the distance between two groups of
// the panel.
template <class Isa, size_t kVectors>
RUVD_INLINE void LoadOutputs(const float* panel, size_t stride,
                             typename Isa::Floats (&values)[kVectors]) {
  RUVD_UNROLL
  for (size_t v = 0; v < kVectors; ++v) {
    values[v] = Isa::LoadFloats(panel + PanelGroupOf<Isa>(v) * stride + PanelLaneOf<Isa>(v));
  }
}

template <class Isa, size_t kRows, size_t kVectors>
RUVD_INLINE void LoadTotals(const TileSums& y, typename Isa::Floats (&totals)[kRows][kVectors]) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      totals[r][v] = y.from != nullptr
                         ? Isa::LoadFloats(y.from + r * y.from_stride + v * Isa::kLanes)
                         : Isa::ZeroFloats();
      __builtin_prefetch(y.to + r * y.to_stride + v * Isa::kLanes, 1);
    }
  }
}

template <class Isa, size_t kRows, size_t kVectors>
RUVD_INLINE void StoreTotals(const typename Isa::Floats (&totals)[kRows][kVectors],
                             const TileSums& y) {
  RUVD_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    RUVD_UNROLL
    for (size_t v = 0; v < kVectors; ++v) {
      Isa::StoreFloats(totals[r][v], y.to + r * y.to_stride + v * Isa::kLanes);
    }
  }
}

// Multiplies kRows rows with kVectors vectors of outputs over the panel's blocks.
template <class Isa, Kind kKind, size_t kRows, size_t kVectors>
__attribute__((noinline)) void Tile(const Panel& panel, size_t lane, size_t blocks, TileRows x,
                                    TileSums y) {
  typename Isa::Floats totals[kRows][kVectors];
  LoadTotals<Isa>(y, totals);
  const uint8_t* codes = panel.codes + lane * 4;
  const float* scales = panel.scales + lane;
  const float* minima = panel.minima + lane;
  constexpr size_t kVectorsOfHalf = kBlockVectors / kKind.halves;
  for (size_t b = 0; b < blocks; ++b) {
    RUVD_UNROLL
    for (size_t half = 0; half < kKind.halves; ++half) {
      typename Isa::Ints sums[kRows][kVectors];
      StartSums<Isa, kKind>(x, half, sums);
      RUVD_UNROLL
      for (size_t i = 0; i < kVectorsOfHalf; ++i) {
        const size_t vector = half * kVectorsOfHalf + i;
        typename Isa::Codes w[kVectors];
        RUVD_UNROLL
        for (size_t v = 0; v < kVectors; ++v) {
          w[v] = Isa::LoadCodes(codes + PanelGroupOf<Isa>(v) * kPanelCodeBytes +
                                PanelLaneOf<Isa>(v) * 4 + vector * kVectorBytes);
        }
        AddProducts<Isa, kKind.wide>(w, x.codes + vector * 4, sums);
      }
      typename Isa::Floats s[kVectors];
      LoadOutputs<Isa>(scales + half * kGroupOutputs, kPanelScales, s);
      AddScaled<Isa>(sums, s, x.scales, totals);
    }
    if constexpr (kKind.minima) {
      typename Isa::Floats m[kVectors];
      LoadOutputs<Isa>(minima, kPanelMinima, m);
      SubtractMinima<Isa>(m, x.sums, totals);
    }
    x.Advance(1, kKind.halves);
    codes += kBlockVectors * kVectorBytes;
    scales += kKind.halves * kGroupOutputs;
    minima += kGroupOutputs;
  }
  StoreTotals<Isa>(totals, y);
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

struct PanelProduct {
  Panel panel;
  size_t first_block;
  size_t blocks;
  TileSums y;  // from the panel's first row and first output on
};

// Returns the number of blocks in a run. Runs have nearly equal lengths, because a short last run
// would write its results faster than the caches accept them.
RUVD_INLINE size_t PanelRun(size_t blocks) {
  const size_t runs = (blocks + kPanelBlocks - 1) / kPanelBlocks;
  return (blocks + runs - 1) / runs;
}

// Returns the product for the run of columns that begins at `block`. y and y_stride are those of
// the results.
RUVD_INLINE PanelProduct PanelProductAt(const PackedProduct& p, size_t block, float* y,
                                        size_t y_stride) {
  constexpr size_t kStride = kPanelGroups * kGroupOutputs;
  const size_t run = PanelRun(p.w.blocks);
  const size_t left = p.w.blocks - block;
  const bool last = left <= run;
  float* partial = PartialSumsIn(p.scratch);
  return {.panel = PanelIn(p.scratch),
          .first_block = block,
          .blocks = last ? left : run,
          .y = {block == 0 ? nullptr : partial, kStride, last ? y : partial,
                last ? y_stride : kStride}};
}

// Multiplies rows [row, row + kRows) of a row group with a panel of kGroups groups.
template <class Isa, TensorType kType, size_t kRows, size_t kGroups>
RUVD_INLINE void MultiplyTiles(const PanelProduct& p, const TileRows& rows, const TileSums& y) {
  constexpr size_t kAll = kGroups * kGroupVectors<Isa>;
  constexpr size_t kVectors = kAll < Isa::kTileVectors ? kAll : Isa::kTileVectors;
  static_assert(kAll % kVectors == 0);
  for (size_t v = 0; v < kAll; v += kVectors) {
    Panel panel = p.panel;
    panel.codes += PanelGroupOf<Isa>(v) * kPanelCodeBytes;
    panel.scales += PanelGroupOf<Isa>(v) * kPanelScales;
    panel.minima += PanelGroupOf<Isa>(v) * kPanelMinima;
    Tile<Isa, Packing<kType>::kKind, kRows, kVectors>(panel, PanelLaneOf<Isa>(v), p.blocks, rows,
                                                      y.At(0, v * Isa::kLanes));
  }
}

template <class Isa, TensorType kType, size_t kGroups>
void MultiplyPanelRows(const PanelProduct& p, const QuantizedView& x, size_t first_row,
                       size_t rows) {
  constexpr size_t kRows = Isa::kTileRows;
  static_assert(kRowGroup % kRows == 0 && kRows <= 4);
  for (size_t done = 0; done < rows;) {
    const size_t row = first_row + done;
    const TileRows tile = RowsAt<kType>(x, row / kRowGroup, row % kRowGroup, p.first_block);
    const TileSums y = p.y.At(done, 0);
    const size_t left = rows - done;
    if (left >= kRows) {
      MultiplyTiles<Isa, kType, kRows, kGroups>(p, tile, y);
      done += kRows;
    } else if (left >= 2) {
      MultiplyTiles<Isa, kType, 2, kGroups>(p, tile, y);
      done += 2;
    } else {
      MultiplyTiles<Isa, kType, 1, kGroups>(p, tile, y);
      done += 1;
    }
  }
}

template <class Isa, TensorType kType, size_t kGroups>
void MultiplyPanel(const PackedProduct& p, size_t group, float* y, size_t y_stride) {
  for (size_t block = 0; block < p.w.blocks; block += PanelRun(p.w.blocks)) {
    const PanelProduct product = PanelProductAt(p, block, y, y_stride);
    for (size_t i = 0; i < kGroups; ++i) {
      UnpackGroup<Isa, kType>(p.w.data + (group + i) * p.w.group_bytes, block, product.blocks,
                              product.panel, i);
    }
    MultiplyPanelRows<Isa, kType, kGroups>(product, p.x, p.first_row, p.rows);
  }
}

// Returns how many outputs of group `group` exist.
RUVD_INLINE size_t GroupOutputs(const PackedView& w, size_t group) {
  const size_t left = w.outputs - group * kGroupOutputs;
  return left < kGroupOutputs ? left : kGroupOutputs;
}

inline void CopyCutRows(const float* from, size_t rows, size_t outputs, float* y, size_t y_stride) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < outputs; ++j) {
      y[r * y_stride + j] = from[r * kGroupOutputs + j];
    }
  }
}

template <class Isa, TensorType kType>
void MultiplyByPanels(const PackedProduct& p) {
  const size_t end = p.first_group + p.groups;
  const size_t full = p.w.outputs / kGroupOutputs;
  float* y = p.y + p.first_row * p.y_stride;
  for (size_t group = p.first_group; group < end;) {
    const size_t left = (end < full ? end : full) - group;
    float* out = y + group * kGroupOutputs;
    if (group >= full) {
      float* cut = CutRowsIn(p.scratch);
      MultiplyPanel<Isa, kType, 1>(p, group, cut, kGroupOutputs);
      CopyCutRows(cut, p.rows, GroupOutputs(p.w, group), out, p.y_stride);
      group += 1;
    } else if (left >= 3 && kPanelGroups >= 3) {
      MultiplyPanel<Isa, kType, 3>(p, group, out, p.y_stride);
      group += 3;
    } else if (left >= 2) {
      MultiplyPanel<Isa, kType, 2>(p, group, out, p.y_stride);
      group += 2;
    } else {
      MultiplyPanel<Isa, kType, 1>(p, group, out, p.y_stride);
      group += 1;
    }
  }
}

}  // namespace
}  // namespace ruvd::inference
