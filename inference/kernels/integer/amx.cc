// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Computes integer products with AMX's tiles (Sapphire Rapids and later): one instruction
// multiplies 16 rows x 16 outputs x 32 columns. A panel holds signed codes here, so no correction
// is needed. The sums of a block are stored, scaled and added in float32, as in the other tables.
// Measured on Sapphire Rapids for 16 x 16 sums, product and store take 27 cycles and scaling takes
// 27. They hardly overlap, because tiles block a vector port, and switching between them costs
// time, so each is done for many blocks at once. Products of few rows use the code of AVX-512 VNNI.

#if defined(__x86_64__)
#include <immintrin.h>

#include "inference/kernels/integer/direct-inl.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/integer/isa_avx512-inl.h"
#include "inference/kernels/integer/panel-inl.h"
#include "inference/kernels/integer/product-inl.h"
#include "inference/kernels/integer/quantize_avx512-inl.h"
#include "inference/kernels/tile_shapes-inl.h"

namespace ruvd::inference::integer {
namespace {

// Numbers of tile registers. They are macro arguments that the intrinsics paste into assembly text,
// so they must be literal digits.
constexpr int kSums = 0;         // kSums and kSums + 1
constexpr int kActivations = 2;  // kActivations and kActivations + 1
constexpr int kWeights = 4;      // kWeights and kWeights + 1

// Steps whose sums are kept before they are scaled: 16 KiB.
constexpr size_t kBatchSteps = 16;

// Sets up tiles for `rows` rows of activations and `columns` columns at a time.
void ConfigureTiles(size_t rows, size_t columns) {
  TileShapes shapes;
  for (int i = 0; i < 2; ++i) {
    shapes.rows[kSums + i] = static_cast<uint8_t>(rows);
    shapes.row_bytes[kSums + i] = kVectorBytes;
    shapes.rows[kActivations + i] = static_cast<uint8_t>(rows);
    shapes.row_bytes[kActivations + i] = static_cast<uint16_t>(columns);
    shapes.rows[kWeights + i] = static_cast<uint8_t>(columns / 4);
    shapes.row_bytes[kWeights + i] = kVectorBytes;
  }
  shapes.Load();
}

// Unpacks codes and subtracts their zero point.
template <int kZero>
struct SignedCodes : Avx512Isa {
  static RUVD_INLINE void StoreCodes(Codes codes, uint8_t* p) {
    _mm512_storeu_si512(p, _mm512_sub_epi8(codes, _mm512_set1_epi8(static_cast<char>(kZero))));
  }
};

// The operands of the tile products: `steps` blocks or halves of blocks.
template <Kind kKind>
struct TileOperands {
  static constexpr size_t kColumns = kBlockColumns / kKind.halves;
  const uint8_t* weights;
  const int8_t* activations;
  size_t block_bytes;  // bytes of a block of activations

  RUVD_INLINE const uint8_t* WeightsAt(size_t step) const {
    return weights + step * kColumns * kGroupOutputs;
  }
  RUVD_INLINE const int8_t* ActivationsAt(size_t step) const {
    return activations + step / kKind.halves * block_bytes + step % kKind.halves * kColumns;
  }
};

// Writes the sums of steps [0, steps) to `sums`, 16 x 16 for each step.
template <Kind kKind>
RUVD_INLINE void StoreSums(const TileOperands<kKind>& at, size_t steps, int32_t* sums) {
  constexpr size_t kSumsOfTile = kRowGroup * kGroupOutputs;
  size_t step = 0;
  for (; step + 2 <= steps; step += 2) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_loadd(2, at.ActivationsAt(step), kBlockColumns);
    _tile_loadd(4, at.WeightsAt(step), kVectorBytes);
    _tile_loadd(3, at.ActivationsAt(step + 1), kBlockColumns);
    _tile_loadd(5, at.WeightsAt(step + 1), kVectorBytes);
    _tile_dpbssd(0, 2, 4);
    _tile_dpbssd(1, 3, 5);
    _tile_stored(0, sums + step * kSumsOfTile, kVectorBytes);
    _tile_stored(1, sums + (step + 1) * kSumsOfTile, kVectorBytes);
  }
  if (step < steps) {
    _tile_zero(0);
    _tile_loadd(2, at.ActivationsAt(step), kBlockColumns);
    _tile_loadd(4, at.WeightsAt(step), kVectorBytes);
    _tile_dpbssd(0, 2, 4);
    _tile_stored(0, sums + step * kSumsOfTile, kVectorBytes);
  }
}

// Scales the sums of `kRows` rows, or of `rows` if kRows is 0, and adds them to the totals.
struct ScaleStep {
  __m512 scales;
  const int32_t* sums;
  const float* x_scales;
};

template <size_t kUnrolled>
RUVD_INLINE void AddStep(const ScaleStep& step, size_t rows, __m512* totals) {
  const auto add = [&](size_t r) __attribute__((always_inline)) {
    const __m512 sums = _mm512_cvtepi32_ps(_mm512_load_si512(step.sums + r * kGroupOutputs));
    const __m512 scale = _mm512_mul_ps(step.scales, _mm512_set1_ps(step.x_scales[r]));
    totals[r] = _mm512_fmadd_ps(sums, scale, totals[r]);
  };
  if constexpr (kUnrolled > 0) {
    RUVD_UNROLL
    for (size_t r = 0; r < kUnrolled; ++r) {
      add(r);
    }
  } else {
    for (size_t r = 0; r < rows; ++r) {
      add(r);
    }
  }
}

template <size_t kUnrolled>
RUVD_INLINE void SubtractStep(const float* minima, const float* x_sums, size_t rows,
                              __m512* totals) {
  const __m512 m = _mm512_loadu_ps(minima);
  if constexpr (kUnrolled > 0) {
    RUVD_UNROLL
    for (size_t r = 0; r < kUnrolled; ++r) {
      totals[r] = _mm512_fnmadd_ps(m, _mm512_set1_ps(x_sums[r]), totals[r]);
    }
  } else {
    for (size_t r = 0; r < rows; ++r) {
      totals[r] = _mm512_fnmadd_ps(m, _mm512_set1_ps(x_sums[r]), totals[r]);
    }
  }
}

// Multiplies one row group with one group of a panel. kUnrolled is 16 for a whole row group, else
// 0.
template <Kind kKind, size_t kUnrolled>
__attribute__((noinline)) void MultiplyTile(const uint8_t* codes, const float* scales,
                                            const float* minima, size_t blocks, TileRows x,
                                            size_t rows, TileSums y) {
  alignas(64) int32_t sums[kBatchSteps][kRowGroup * kGroupOutputs];
  __m512 totals[kRowGroup];
  const size_t count = kUnrolled > 0 ? kUnrolled : rows;
  RUVD_UNROLL
  for (size_t r = 0; r < kRowGroup; ++r) {
    totals[r] = y.from != nullptr && r < count ? _mm512_loadu_ps(y.from + r * y.from_stride)
                                               : _mm512_setzero_ps();
    __builtin_prefetch(y.to + (r < count ? r : 0) * y.to_stride, 1);
  }
  constexpr size_t kBatchBlocks = kBatchSteps / kKind.halves;
  for (size_t first = 0; first < blocks; first += kBatchBlocks) {
    const size_t taken = blocks - first < kBatchBlocks ? blocks - first : kBatchBlocks;
    StoreSums<kKind>({codes, x.codes, x.stride * kBlockColumns}, taken * kKind.halves, sums[0]);
    for (size_t b = 0; b < taken; ++b) {
      RUVD_UNROLL
      for (size_t half = 0; half < kKind.halves; ++half) {
        const size_t step = b * kKind.halves + half;
        AddStep<kUnrolled>({.scales = _mm512_loadu_ps(scales + step * kGroupOutputs),
                            .sums = sums[step],
                            .x_scales = x.scales + b * x.stride},
                           rows, totals);
      }
      if constexpr (kKind.minima) {
        SubtractStep<kUnrolled>(minima + b * kGroupOutputs, x.sums + b * x.stride, rows, totals);
      }
    }
    x.Advance(taken, kKind.halves);
    codes += taken * kBlockVectors * kVectorBytes;
    scales += taken * kKind.halves * kGroupOutputs;
    minima += taken * kGroupOutputs;
  }
  RUVD_UNROLL
  for (size_t r = 0; r < kRowGroup; ++r) {
    if (r < count) {
      _mm512_storeu_ps(y.to + r * y.to_stride, totals[r]);
    }
  }
}

// Multiplies each row group with the panel's groups in turn, so that its activations stay in the
// cache.
template <TensorType kType>
void MultiplyPanelTiles(const PanelProduct& p, size_t groups, const QuantizedView& x,
                        size_t first_row, size_t rows) {
  constexpr Kind kKind = Packing<kType>::kKind;
  for (size_t done = 0; done < rows; done += kRowGroup) {
    const size_t row = first_row + done;
    const TileRows tile = RowsAt<kType>(x, row / kRowGroup, 0, p.first_block);
    const size_t count = rows - done < kRowGroup ? rows - done : kRowGroup;
    if (count < kRowGroup) {
      ConfigureTiles(count, kBlockColumns / kKind.halves);
    }
    for (size_t g = 0; g < groups; ++g) {
      const uint8_t* codes = p.panel.codes + g * kPanelCodeBytes;
      const float* scales = p.panel.scales + g * kPanelScales;
      const float* minima = p.panel.minima + g * kPanelMinima;
      const TileSums y = p.y.At(done, g * kGroupOutputs);
      if (count == kRowGroup) {
        MultiplyTile<kKind, kRowGroup>(codes, scales, minima, p.blocks, tile, count, y);
      } else {
        MultiplyTile<kKind, 0>(codes, scales, minima, p.blocks, tile, count, y);
      }
    }
  }
}

template <TensorType kType>
void MultiplyTilePanel(const PackedProduct& p, size_t group, size_t groups, float* y,
                       size_t y_stride) {
  for (size_t block = 0; block < p.w.blocks; block += PanelRun(p.w.blocks)) {
    const PanelProduct product = PanelProductAt(p, block, y, y_stride);
    for (size_t i = 0; i < groups; ++i) {
      UnpackGroup<SignedCodes<Packing<kType>::kFormat.zero_point>, kType>(
          p.w.data + (group + i) * p.w.group_bytes, block, product.blocks, product.panel, i);
    }
    ConfigureTiles(kRowGroup, kBlockColumns / Packing<kType>::kKind.halves);
    MultiplyPanelTiles<kType>(product, groups, p.x, p.first_row, p.rows);
  }
}

template <TensorType kType>
void MultiplyTypeByTiles(const PackedProduct& p) {
  const size_t end = p.first_group + p.groups;
  const size_t full = p.w.outputs / kGroupOutputs;
  float* y = p.y + p.first_row * p.y_stride;
  for (size_t group = p.first_group; group < end;) {
    float* out = y + group * kGroupOutputs;
    if (group >= full) {
      float* cut = CutRowsIn(p.scratch);
      MultiplyTilePanel<kType>(p, group, 1, cut, kGroupOutputs);
      CopyCutRows(cut, p.rows, GroupOutputs(p.w, group), out, p.y_stride);
      break;
    }
    const size_t left = (end < full ? end : full) - group;
    const size_t groups = left < kPanelGroups ? left : kPanelGroups;
    MultiplyTilePanel<kType>(p, group, groups, out, p.y_stride);
    group += groups;
  }
  _tile_release();  // the system then has no tiles to save on a context switch
}

// With fewer rows than this, tiles gain nothing.
constexpr size_t kMinTileRows = 64;

void MultiplyPackedByTiles(const PackedProduct& p) {
  if (p.rows < kMinTileRows) {
    return MultiplyPacked<Avx512Isa>(p);
  }
  switch (p.w.type) {
    case TensorType::kQ8_0:
      return MultiplyTypeByTiles<TensorType::kQ8_0>(p);
    case TensorType::kQ4_0:
      return MultiplyTypeByTiles<TensorType::kQ4_0>(p);
    case TensorType::kQ4_1:
      return MultiplyTypeByTiles<TensorType::kQ4_1>(p);
    case TensorType::kQ5_0:
      return MultiplyTypeByTiles<TensorType::kQ5_0>(p);
    case TensorType::kQ5_1:
      return MultiplyTypeByTiles<TensorType::kQ5_1>(p);
    case TensorType::kQ4_K:
      return MultiplyTypeByTiles<TensorType::kQ4_K>(p);
    case TensorType::kQ5_K:
      return MultiplyTypeByTiles<TensorType::kQ5_K>(p);
    default:  // Q6_K needs twice the scaling for the same products
      return MultiplyPacked<Avx512Isa>(p);
  }
}

}  // namespace

void FillAmx(KernelTable* table) {
  table->multiply_packed = MultiplyPackedByTiles;
  table->quantize_rows = QuantizeRowGroupAvx512;
}

}  // namespace ruvd::inference::integer
#endif
