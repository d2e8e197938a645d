// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Multiplies bfloat16 with AMX's tiles: one instruction multiplies 16 rows x 16 outputs x 32
// columns in 16 cycles. Four sums are kept in tiles, so each operand is used twice for every load.

#if defined(__x86_64__)
#include "inference/kernels/rounded_amx.h"

#include <immintrin.h>

#include "inference/kernels/tile_shapes-inl.h"

namespace ruvd::inference {
namespace {

constexpr size_t kTileRows = 16;
constexpr size_t kVectorBytes = 64;
constexpr size_t kStepValues = kRoundedStep * kRoundedGroup;  // of a packed group

// Tiles 0 to 3 are the sums of two row groups (0 and 1, 2 and 3), 4 and 5 their rows of a, and 6
// and 7 the groups of b.
void ConfigureTiles(size_t first_rows, size_t second_rows) {
  TileShapes shapes;
  const size_t rows[8] = {first_rows, first_rows,  second_rows, second_rows,
                          first_rows, second_rows, kTileRows,   kTileRows};
  for (int tile = 0; tile < 8; ++tile) {
    shapes.rows[tile] = static_cast<uint8_t>(rows[tile]);
    shapes.row_bytes[tile] = kVectorBytes;
  }
  shapes.Load();
}

// A block of one or two row groups and two groups of b.
struct Block {
  const uint16_t* a;
  size_t a_bytes;  // between two rows
  const uint16_t* b;
  size_t inner;
  float* y;
  size_t y_bytes;
  bool accumulate;

  const uint16_t* SecondRows() const { return a + kTileRows * a_bytes / sizeof(uint16_t); }
  const uint16_t* SecondGroup() const { return b + inner * kRoundedGroup; }
  float* At(size_t row_group, size_t group) const {
    return y + row_group * kTileRows * y_bytes / sizeof(float) + group * kRoundedGroup;
  }
};

// The numbers of tiles must be literals.
template <bool kTwoRows>
void BeginSums(const Block& block) {
  if (!block.accumulate) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  _tile_loadd(0, block.At(0, 0), block.y_bytes);
  _tile_loadd(1, block.At(0, 1), block.y_bytes);
  if constexpr (kTwoRows) {
    _tile_loadd(2, block.At(1, 0), block.y_bytes);
    _tile_loadd(3, block.At(1, 1), block.y_bytes);
  }
}

template <bool kTwoRows>
void StoreSums(const Block& block) {
  _tile_stored(0, block.At(0, 0), block.y_bytes);
  _tile_stored(1, block.At(0, 1), block.y_bytes);
  if constexpr (kTwoRows) {
    _tile_stored(2, block.At(1, 0), block.y_bytes);
    _tile_stored(3, block.At(1, 1), block.y_bytes);
  }
}

template <bool kTwoRows>
__attribute__((noinline)) void MultiplyBlock(const Block& block) {
  BeginSums<kTwoRows>(block);
  const uint16_t* const a = block.a;
  const uint16_t* const second_a = block.SecondRows();
  const uint16_t* b = block.b;
  const uint16_t* second_b = block.SecondGroup();
  for (size_t k = 0; k < block.inner; k += kRoundedStep) {
    _tile_loadd(4, a + k, block.a_bytes);
    _tile_loadd(6, b, kVectorBytes);
    _tile_loadd(7, second_b, kVectorBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kTwoRows) {
      _tile_loadd(5, second_a + k, block.a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    b += kStepValues;
    second_b += kStepValues;
  }
  StoreSums<kTwoRows>(block);
}

template <bool kTwoRows>
void MultiplyRows(const RoundedProduct& p, Block block) {
  for (size_t group = 0; group < p.groups; group += 2) {
    MultiplyBlock<kTwoRows>(block);
    block.b += 2 * p.inner * kRoundedGroup;
    block.y += 2 * kRoundedGroup;
  }
}

void Multiply(const RoundedProduct& p) {
  Block block{.a = p.a,
              .a_bytes = p.a_stride * sizeof(uint16_t),
              .b = p.b,
              .inner = p.inner,
              .y = p.y,
              .y_bytes = p.y_stride * sizeof(float),
              .accumulate = p.accumulate};
  size_t row = 0;
  if (p.rows >= 2 * kTileRows) {
    ConfigureTiles(kTileRows, kTileRows);
  }
  for (; row + 2 * kTileRows <= p.rows; row += 2 * kTileRows) {
    MultiplyRows<true>(p, block);
    block.a += 2 * kTileRows * p.a_stride;
    block.y += 2 * kTileRows * p.y_stride;
  }
  const size_t left = p.rows - row;
  if (left > kTileRows) {
    ConfigureTiles(kTileRows, left - kTileRows);
    MultiplyRows<true>(p, block);
  } else if (left > 0) {
    // Tiles 2 and 3 are zeroed with the others, so they need a shape.
    ConfigureTiles(left, left);
    MultiplyRows<false>(p, block);
  }
  _tile_release();  // the system then has no tiles to save on a context switch
}

__m512i RoundVectors(const float* x) {
  const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
  __m512i bits;
  __builtin_memcpy(&bits, &rounded, sizeof(bits));
  return bits;
}

void Round(const float* x, size_t n, uint16_t* out) {
  for (size_t i = 0; i < n; i += kRoundedStep) {
    _mm512_storeu_si512(out + i, RoundVectors(x + i));
  }
}

// Transposes 16 x 16 numbers of 32 bits, by exchanging blocks of one, two, four and eight.
void Transpose(__m512i* v) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_i32x4(v[i + j], v[i + 4 + j], 0x88);
      t[i + 4 + j] = _mm512_shuffle_i32x4(v[i + j], v[i + 4 + j], 0xdd);
    }
  }
  for (int j = 0; j < 8; ++j) {
    v[j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88);
    v[8 + j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0xdd);
  }
}

// A tile of b has the pairs of the inner dimension as rows, and in each row the pairs of 16
// outputs.
void PackRows(const float* b, size_t b_stride, size_t columns, uint16_t* out) {
  for (size_t k = 0; k < columns; k += kRoundedStep) {
    __m512i rows[kRoundedGroup];
    for (size_t r = 0; r < kRoundedGroup; ++r) {
      rows[r] = RoundVectors(b + r * b_stride + k);
    }
    Transpose(rows);
    for (const __m512i& pairs : rows) {
      _mm512_storeu_si512(out, pairs);
      out += kRoundedStep;
    }
  }
}

__m512i Widened(const float* x) {
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(x));
  __m256i bits;
  __builtin_memcpy(&bits, &rounded, sizeof(bits));
  return _mm512_cvtepu16_epi32(bits);
}

void PackColumns(const float* b, size_t b_stride, size_t rows, uint16_t* out) {
  for (size_t k = 0; k < rows; k += 2) {
    const __m512i even = Widened(b + k * b_stride);
    const __m512i odd = Widened(b + (k + 1) * b_stride);
    _mm512_storeu_si512(out, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
    out += kRoundedStep;
  }
}

}  // namespace

const RoundedKernels& AmxRoundedKernels() {
  static constexpr RoundedKernels kKernels = {
      .round = Round, .pack_rows = PackRows, .pack_columns = PackColumns, .multiply = Multiply};
  return kKernels;
}

}  // namespace ruvd::inference
#endif
