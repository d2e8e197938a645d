// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Products of many rows: the weights are unpacked once into a panel, which all rows then use. See
// product-inl.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/kernels/integer/product-inl.h"

namespace ruvd::inference {
namespace {

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
