// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/kernels/packing.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "inference/kernels/packed.h"

namespace ruvd::inference {
namespace {

// The unsigned codes of one row's 32 columns.
using Codes = uint8_t[kBlockColumns];

uint32_t Load32(const uint8_t* in) {
  uint32_t value;
  std::memcpy(&value, in, sizeof(value));
  return value;
}

// Byte j holds values j and j + 16.
void SplitNibbles(const uint8_t* pairs, Codes& codes) {
  for (size_t j = 0; j < kBlockColumns / 2; ++j) {
    codes[j] = pairs[j] & 0xF;
    codes[j + kBlockColumns / 2] = static_cast<uint8_t>(pairs[j] >> 4);
  }
}

void AddFifthBits(uint32_t high, Codes& codes) {
  for (size_t j = 0; j < kBlockColumns; ++j) {
    codes[j] = static_cast<uint8_t>(codes[j] | ((high >> j) & 1U) << 4);
  }
}

// Reads the codes of one block. `in` is the file's block of 32, or of 256, where `sub` counts its
// runs of 32. The layouts are those that gguf/dequantize_blocks.cc decodes.
void CodesOfBlock(TensorType type, const uint8_t* in, size_t sub, Codes& codes) {
  switch (type) {
    case TensorType::kQ8_0:
      for (size_t j = 0; j < kBlockColumns; ++j) {
        codes[j] = in[2 + j] ^ 0x80U;
      }
      return;
    case TensorType::kQ4_0:
      return SplitNibbles(in + 2, codes);
    case TensorType::kQ4_1:
      return SplitNibbles(in + 4, codes);
    case TensorType::kQ5_0:
      SplitNibbles(in + 6, codes);
      return AddFifthBits(Load32(in + 2), codes);
    case TensorType::kQ5_1:
      SplitNibbles(in + 8, codes);
      return AddFifthBits(Load32(in + 4), codes);
    case TensorType::kQ6_K: {
      const size_t half = sub / 4;
      const size_t quarter = sub % 4;
      const uint8_t* low = in + half * 64 + quarter % 2 * 32;
      const uint8_t* high = in + 128 + half * 32;
      for (size_t j = 0; j < kBlockColumns; ++j) {
        const unsigned bits = quarter < 2 ? low[j] & 0xFU : low[j] >> 4U;
        codes[j] = static_cast<uint8_t>(bits | ((high[j] >> (2 * quarter)) & 3U) << 4);
      }
      return;
    }
    default: {  // Q4_K, Q5_K
      const bool five = type == TensorType::kQ5_K;
      const uint8_t* run = in + (five ? 48 : 16) + sub / 2 * 32;
      for (size_t j = 0; j < kBlockColumns; ++j) {
        const unsigned low = sub % 2 == 0 ? run[j] & 0xFU : run[j] >> 4U;
        const unsigned high = five ? (in[16 + j] >> sub) & 1U : 0U;
        codes[j] = static_cast<uint8_t>(low | high << 4);
      }
      return;
    }
  }
}

// Reads the 6-bit scale and minimum of sub-block `sub` of a K format.
void SubScales(const uint8_t* packed, size_t sub, uint8_t* scale, uint8_t* minimum) {
  if (sub < 4) {
    *scale = packed[sub] & 63U;
    *minimum = packed[sub + 4] & 63U;
    return;
  }
  *scale = static_cast<uint8_t>((packed[sub + 4] & 0xFU) | (packed[sub - 4] >> 6U) << 4U);
  *minimum = static_cast<uint8_t>((packed[sub + 4] >> 4U) | (packed[sub] >> 6U) << 4U);
}

// Writes the part of the header that belongs to output `lane`. `in` is the file's block, `block`
// its number in units of 32 columns, `unit` the header.
void WriteHeader(TensorType type, const uint8_t* in, size_t block, size_t lane, uint8_t* unit) {
  switch (type) {
    case TensorType::kQ8_0:
    case TensorType::kQ4_0:
    case TensorType::kQ5_0:
      std::memcpy(unit + block % 2 * 32 + 2 * lane, in, 2);
      return;
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
      std::memcpy(unit + 2 * lane, in, 2);
      unit[32 + 2 * lane] = in[2];
      unit[33 + 2 * lane] = in[3] ^ 0x80U;  // negated, because minima are subtracted
      return;
    case TensorType::kQ6_K:
      std::memcpy(unit + 2 * lane, in + 208, 2);
      for (size_t sub = 0; sub < 16; ++sub) {
        unit[64 + sub * kGroupOutputs + lane] = in[192 + sub];
      }
      return;
    default:
      std::memcpy(unit + 2 * lane, in, 2);
      std::memcpy(unit + 32 + 2 * lane, in + 2, 2);
      for (size_t sub = 0; sub < 8; ++sub) {
        uint8_t* subs = unit + 64 + sub * 2 * kGroupOutputs + lane;
        SubScales(in + 4, sub, subs, subs + kGroupOutputs);
      }
      return;
  }
}

// Compresses vectors with one byte per code (see packed.h) to the format's bits.
void CompressCodes(int bits, const uint8_t* vectors, uint8_t* out) {
  if (bits == 8) {
    std::memcpy(out, vectors, kBlockVectors * kVectorBytes);
    return;
  }
  for (size_t pair = 0; pair < kBlockVectors / 2; ++pair) {
    const uint8_t* even = vectors + 2 * pair * kVectorBytes;
    for (size_t i = 0; i < kVectorBytes; ++i) {
      const unsigned low = even[i] & 0xFU;
      const unsigned high = even[kVectorBytes + i] & 0xFU;
      out[pair * kVectorBytes + i] = static_cast<uint8_t>(low | high << 4);
    }
  }
  const auto extra = static_cast<size_t>(bits - 4);
  uint8_t* planes = out + kBlockVectors / 2 * kVectorBytes;
  std::memset(planes, 0, extra * kVectorBytes);
  const size_t per_plane = extra == 0 ? 1 : 8 / extra;
  for (size_t g = 0; extra > 0 && g < kBlockVectors; ++g) {
    uint8_t* plane = planes + g / per_plane * kVectorBytes;
    const size_t shift = g % per_plane * extra;
    for (size_t i = 0; i < kVectorBytes; ++i) {
      const unsigned high = static_cast<unsigned>(vectors[g * kVectorBytes + i]) >> 4U;
      plane[i] = static_cast<uint8_t>(plane[i] | high << shift);
    }
  }
}

// Packs one group, of which `outputs` rows exist.
void PackGroup(const PackSource& source, const uint8_t* rows, size_t outputs, uint8_t* out) {
  const PackedFormat format = PackedFormatOf(source.type);
  const size_t file_blocks = format.file_columns / kBlockColumns;
  const size_t blocks = source.columns / kBlockColumns;
  uint8_t* unit = out;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t in_unit = block % format.unit_blocks;
    alignas(64) uint8_t vectors[kBlockVectors * kVectorBytes] = {};
    for (size_t lane = 0; lane < outputs; ++lane) {
      const uint8_t* in = rows + lane * source.row_bytes + block / file_blocks * format.file_bytes;
      Codes codes;
      CodesOfBlock(source.type, in, block % file_blocks, codes);
      for (size_t g = 0; g < kBlockVectors; ++g) {
        std::memcpy(vectors + g * kVectorBytes + lane * 4, codes + g * 4, 4);
      }
      if (block % file_blocks == 0) {
        WriteHeader(source.type, in, block, lane, unit);
      }
    }
    CompressCodes(format.bits, vectors, unit + format.header_bytes + in_unit * format.code_bytes);
    if (in_unit + 1 == format.unit_blocks) {
      unit += format.header_bytes + format.unit_blocks * format.code_bytes;
    }
  }
}

}  // namespace

void PackGroups(const PackSource& source, size_t first_group, size_t groups, uint8_t* out) {
  const PackedFormat format = PackedFormatOf(source.type);
  RUVD_CHECK(format.unit_blocks > 0);  // the type can be packed
  const size_t bytes = PackedGroupBytes(format, source.columns / kBlockColumns);
  std::memset(out, 0, groups * bytes);
  for (size_t i = 0; i < groups; ++i) {
    const size_t first = (first_group + i) * kGroupOutputs;
    PackGroup(source, source.data + first * source.row_bytes,
              std::min(kGroupOutputs, source.outputs - first), out + i * bytes);
  }
}

}  // namespace ruvd::inference
