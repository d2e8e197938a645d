// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/gguf/types.h"

// The operands of the integer products: how quantised weights and activations lie in memory. Plain
// data without standard library types, because every instruction set compiles it with its own
// compiler flags.
//
// Packed weights. 16 outputs form a group, which is contiguous. A block is 32 columns of a group:
// eight vectors of 64 bytes, vector g holding columns 4g .. 4g+3 of output 0, then of output 1, and
// so on. A vector is thus what one dot-product instruction of 512 bits wants, and eight of them are
// what AMX wants as a tile. Codes are unsigned with a zero point. Codes of 4 bits are stored as
// nibbles (vectors 2i and 2i+1 in one), the fifth bits as one vector whose bit g belongs to vector
// g, the upper two bits of 6-bit codes as two vectors (vector g in bits 2(g%4) of vector g/4).
// Scales come before the codes they belong to:
//   Q8_0 Q4_0 Q5_0   two blocks: 2 x 16 half-precision scales, codes, codes
//   Q4_1 Q5_1        one block: 16 half-precision scales, 16 negated minima, codes
//   Q4_K Q5_K        eight blocks: 16 scales, 16 minima, 8 x (16 sub-scales, 16 sub-minima, one
//                    byte each), codes of 8 blocks
//   Q6_K             eight blocks: 16 scales, 32 unused bytes, 8 x 2 x 16 signed sub-scales (one
//                    for 16 columns), codes of 8 blocks
// Outputs beyond the last have scale zero.
//
// Quantised activations. Rows form groups of 16, the last one smaller; within a group a block's 32
// codes of one row follow those of the row before, then comes the next block. Per-block numbers lie
// in the same order.
namespace ruvd::inference {

inline constexpr size_t kGroupOutputs = 16;
inline constexpr size_t kBlockColumns = 32;
inline constexpr size_t kVectorBytes = 64;
inline constexpr size_t kBlockVectors = 8;
inline constexpr size_t kRowGroup = 16;

// How one format is packed.
struct PackedFormat {
  int bits = 0;             // of a code: 4, 5, 6, 8
  int zero_point = 0;       // subtracted from a code
  bool minima = false;      // a term that multiplies the sum of the activations
  size_t unit_blocks = 0;   // blocks that share one header
  size_t header_bytes = 0;  // before the codes of a unit
  size_t code_bytes = 0;    // of one block of a group
  size_t file_columns = 0;  // of a block in the file, and its bytes
  size_t file_bytes = 0;
};

// The packing of `type`; unit_blocks is 0 where it has none.
constexpr PackedFormat PackedFormatOf(TensorType type) {
  switch (type) {
    case TensorType::kQ8_0:
      return {8, 128, false, 2, 64, 512, 32, 34};
    case TensorType::kQ4_0:
      return {4, 8, false, 2, 64, 256, 32, 18};
    case TensorType::kQ5_0:
      return {5, 16, false, 2, 64, 320, 32, 22};
    case TensorType::kQ4_1:
      return {4, 0, true, 1, 64, 256, 32, 20};
    case TensorType::kQ5_1:
      return {5, 0, true, 1, 64, 320, 32, 24};
    case TensorType::kQ4_K:
      return {4, 0, true, 8, 320, 256, 256, 144};
    case TensorType::kQ5_K:
      return {5, 0, true, 8, 320, 320, 256, 176};
    case TensorType::kQ6_K:
      return {6, 32, false, 8, 320, 384, 256, 210};
    default:
      return {};
  }
}

// Bytes of one group of outputs with `blocks` blocks; a multiple of 64.
constexpr size_t PackedGroupBytes(const PackedFormat& format, size_t blocks) {
  const size_t units = (blocks + format.unit_blocks - 1) / format.unit_blocks;
  return units * format.header_bytes + blocks * format.code_bytes;
}

// A packed matrix. `data` is aligned to 64 bytes.
struct PackedView {
  TensorType type = TensorType::kQ8_0;
  size_t outputs = 0;
  size_t blocks = 0;       // columns / 32
  size_t group_bytes = 0;  // PackedGroupBytes
  const uint8_t* data = nullptr;
};

// Quantised activations of `rows` rows. A block has the scale s = max|x| / 127 and the codes
// round(x / s), however large x is. A value that is not finite makes the scale NaN and the codes
// zero; blocks below kSmallestActivation have scale zero.
template <class Code, class Float, class Int>
struct BasicQuantizedView {
  size_t rows = 0;
  size_t blocks = 0;        // columns / 32
  Code* codes = nullptr;    // rows x blocks x 32
  Float* scales = nullptr;  // rows x blocks
  Float* sums = nullptr;    // rows x blocks: scale times the sum of the codes
  // Minus the zero point times the sum of the codes, for the zero points 8, 16 and 128.
  Int* corrections[3] = {};
  // The same for the zero point 32 and both halves of a block: rows x blocks x 2.
  Int* half_corrections = nullptr;
};
using QuantizedView = BasicQuantizedView<const int8_t, const float, const int32_t>;
using QuantizedOutput = BasicQuantizedView<int8_t, float, int32_t>;

// Activations whose largest magnitude in a block is below this count as zero.
inline constexpr float kSmallestActivation = 1e-30F;

// `rows` rows of x from `first_row` (a multiple of 16) on times `groups` groups of w from
// `first_group` on. Rows [first_row, first_row + rows) end at a multiple of 16 or at x's last row.
// y points at row 0, output 0 of the whole result.
struct PackedProduct {
  PackedView w;
  size_t first_group = 0;
  size_t groups = 0;
  QuantizedView x;
  size_t first_row = 0;
  size_t rows = 0;  // at most kMaxProductRows
  float* y = nullptr;
  size_t y_stride = 0;         // floats between rows of y
  uint8_t* scratch = nullptr;  // kPackedScratchBytes, aligned to 64, owned by the calling thread
};

// Columns whose codes are unpacked at a time, in blocks, and the groups of a panel: three groups of
// 768 columns are 36 KiB of codes, which a level-1 cache of 48 KiB keeps.
inline constexpr size_t kPanelBlocks = 24;
inline constexpr size_t kPanelGroups = 3;
// Most rows of one PackedProduct: their codes stay in the level-2 cache. A multiple of 16.
inline constexpr size_t kMaxProductRows = 128;
// Codes, scales for halves of blocks, minima; sums of all rows for a panel and for one more group.
inline constexpr size_t kPackedScratchBytes =
    kPanelGroups * kPanelBlocks * (kBlockVectors + 3) * kVectorBytes +
    kMaxProductRows * (kPanelGroups + 1) * kGroupOutputs * sizeof(float);

}  // namespace ruvd::inference
