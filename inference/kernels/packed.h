// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/gguf/types.h"

// The operands of the integer products: how quantised weights and activations lie in memory. The
// types are plain data without the standard library, because each instruction set compiles them
// with its own compiler flags.
//
// Packed weights. 16 outputs form a group, which is contiguous. A block is 32 columns of a group:
// eight vectors of 64 bytes. Vector g holds columns 4g to 4g+3 of output 0, then those of output 1,
// and so on. So a vector is the operand of one 512-bit dot-product instruction, and eight vectors
// are a tile for AMX. Codes are unsigned with a zero point. Codes of 4 bits are stored as nibbles
// (vectors 2i and 2i+1 together in one). The fifth bits are one vector, whose bit g belongs to
// vector g. The upper two bits of 6-bit codes are two vectors (those of vector g in bits 2(g%4) of
// vector g/4). Scales come before the codes they belong to:
//   Q8_0 Q4_0 Q5_0   two blocks: 2 x 16 half-precision scales, codes, codes
//   Q4_1 Q5_1        one block: 16 half-precision scales, 16 negated minima, codes
//   Q4_K Q5_K        eight blocks: 16 scales, 16 minima, 8 x (16 sub-scales, 16 sub-minima, one
//                    byte each), codes of 8 blocks
//   Q6_K             eight blocks: 16 scales, 32 unused bytes, 8 x 2 x 16 signed sub-scales (one
//                    for 16 columns), codes of 8 blocks
// Padding outputs beyond the last one have scale zero.
//
// Quantised activations. Rows form groups of 16; the last group may be smaller. Within a group, the
// 32 codes of a block are stored row by row, and then comes the next block. Numbers that belong to
// a block are stored in the same order.
namespace ruvd::inference {

inline constexpr size_t kGroupOutputs = 16;
inline constexpr size_t kBlockColumns = 32;
inline constexpr size_t kVectorBytes = 64;
inline constexpr size_t kBlockVectors = 8;
inline constexpr size_t kRowGroup = 16;

// How one format is packed.
struct PackedFormat {
  int bits = 0;             // bits of a code: 4, 5, 6 or 8
  int zero_point = 0;       // subtracted from a code
  bool minima = false;      // whether there is a term that multiplies the sum of the activations
  size_t unit_blocks = 0;   // blocks that share one header
  size_t header_bytes = 0;  // bytes before the codes of a unit
  size_t code_bytes = 0;    // bytes of the codes of one block of a group
  size_t file_columns = 0;  // columns of a block in the file; file_bytes is its size
  size_t file_bytes = 0;
};

// Returns the packing of `type`; unit_blocks is 0 if the type cannot be packed.
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

// Returns the bytes of one group of outputs with `blocks` blocks; a multiple of 64.
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
// round(x / s), however large x is. If a value is not finite, the scale is NaN and the codes are
// zero. Blocks whose values are all below kSmallestActivation have scale zero.
template <class Code, class Float, class Int>
struct BasicQuantizedView {
  size_t rows = 0;
  size_t blocks = 0;        // columns / 32
  Code* codes = nullptr;    // rows x blocks x 32
  Float* scales = nullptr;  // rows x blocks
  Float* sums = nullptr;    // rows x blocks: scale times the sum of the codes
  // The negative zero point times the sum of the codes, for the zero points 8, 16 and 128.
  Int* corrections[3] = {};
  // These corrections are for the zero point 32, separately for the two halves of a block: rows x
  // blocks x 2.
  Int* half_corrections = nullptr;
};
using QuantizedView = BasicQuantizedView<const int8_t, const float, const int32_t>;
using QuantizedOutput = BasicQuantizedView<int8_t, float, int32_t>;

// A block whose largest magnitude is below this number counts as zero.
inline constexpr float kSmallestActivation = 1e-30F;

// The product of `rows` rows of x, from `first_row` (a multiple of 16) on, and `groups` groups of
// w, from `first_group` on. Row first_row + rows must be a multiple of 16 or the end of x. y points
// at row 0, output 0 of the whole result.
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

// The size of a panel, for which codes are unpacked at one time: its columns, counted in blocks,
// and its groups. Three groups of 768 columns are 36 KiB of codes, which fit into a level-1 cache
// of 48 KiB.
inline constexpr size_t kPanelBlocks = 24;
inline constexpr size_t kPanelGroups = 3;
// The most rows of one PackedProduct, such that their codes stay in the level-2 cache. It is a
// multiple of 16.
inline constexpr size_t kMaxProductRows = 128;
// The scratch holds codes, scales for halves of blocks and minima, then the sums of all rows for a
// panel and for one more group.
inline constexpr size_t kPackedScratchBytes =
    kPanelGroups * kPanelBlocks * (kBlockVectors + 3) * kVectorBytes +
    kMaxProductRows * (kPanelGroups + 1) * kGroupOutputs * sizeof(float);

}  // namespace ruvd::inference
