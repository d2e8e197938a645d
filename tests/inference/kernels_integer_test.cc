// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the integer kernels alone: every table that this processor can run is compared with the
// scalar one, bit for bit. The test uses nothing but the kernels, so that
// deploy/cross-aarch64-kernels.sh can build it for another processor.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/packed.h"
#include "inference/kernels/packing.h"

namespace ruvd::inference {
namespace {

constexpr TensorType kTypes[] = {TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1,
                                 TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ4_K,
                                 TensorType::kQ5_K, TensorType::kQ6_K};

struct Candidate {
  const char* name;
  bool available;
  void (*fill)(KernelTable* table);
};

// Returns the tables that this processor can run.
std::vector<Candidate> Candidates() {
  const CpuFeatures& cpu = ThisCpu();
  std::vector<Candidate> all = {
#if defined(__x86_64__)
      {"amx", cpu.amx_int8, integer::FillAmx},
      {"avx512_vnni", cpu.avx512_vnni, integer::FillAvx512Vnni},
      {"avx_vnni", cpu.avx_vnni, integer::FillAvxVnni},
      {"avx2", cpu.avx2, integer::FillAvx2},
#elif defined(__aarch64__)
      {"neon_i8mm", cpu.neon_i8mm, integer::FillNeonI8mm},
      {"neon_dotprod", cpu.neon_dotprod, integer::FillNeonDotprod},
      {"neon", true, integer::FillNeon},
#endif
      {"scalar", true, integer::FillScalar},
  };
  std::erase_if(all, [](const Candidate& candidate) { return !candidate.available; });
  return all;
}

// Memory that begins at a multiple of 64 bytes.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t count) : storage_(count * sizeof(T) + 64) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = reinterpret_cast<T*>(storage_.data() + (64 - address % 64) % 64);
  }
  T* data() { return data_; }

 private:
  std::vector<uint8_t> storage_;
  T* data_;
};

// Bytes in which every half-precision number is finite.
std::vector<uint8_t> RandomBytes(size_t count, std::mt19937& random) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(random() & 0xBF);
  }
  return bytes;
}

struct Shape {
  TensorType type;
  size_t rows, outputs, columns;
};

struct Activations {
  explicit Activations(size_t rows, size_t blocks)
      : codes(rows * blocks * 32),
        scales(rows * blocks),
        sums(rows * blocks),
        corrections(3 * rows * blocks),
        halves(2 * rows * blocks) {
    out = {.rows = rows,
           .blocks = blocks,
           .codes = codes.data(),
           .scales = scales.data(),
           .sums = sums.data(),
           .half_corrections = halves.data()};
    for (size_t i = 0; i < 3; ++i) {
      out.corrections[i] = corrections.data() + i * rows * blocks;
    }
  }
  QuantizedView view() const {
    return {.rows = out.rows,
            .blocks = out.blocks,
            .codes = out.codes,
            .scales = out.scales,
            .sums = out.sums,
            .corrections = {out.corrections[0], out.corrections[1], out.corrections[2]},
            .half_corrections = out.half_corrections};
  }
  std::vector<int8_t> codes;
  std::vector<float> scales, sums;
  std::vector<int32_t> corrections, halves;
  QuantizedOutput out;
};

// Runs everything from packing to the product with one table, with equal operands for equal shapes.
std::vector<float> MultiplyWith(const KernelTable& table, const Shape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.rows * 31 + shape.outputs));
  const PackedFormat format = PackedFormatOf(shape.type);
  const size_t row_bytes = shape.columns / format.file_columns * format.file_bytes;
  const std::vector<uint8_t> file = RandomBytes(row_bytes * shape.outputs, random);
  std::normal_distribution<float> normal;
  std::vector<float> x(shape.rows * shape.columns);
  for (float& value : x) {
    value = normal(random);
  }
  const size_t blocks = shape.columns / kBlockColumns;
  const size_t groups = (shape.outputs + kGroupOutputs - 1) / kGroupOutputs;
  const size_t group_bytes = PackedGroupBytes(format, blocks);
  Aligned<uint8_t> packed(groups * group_bytes);
  PackGroups({.type = shape.type,
              .outputs = shape.outputs,
              .columns = shape.columns,
              .data = file.data(),
              .row_bytes = row_bytes},
             0, groups, packed.data());
  Activations activations(shape.rows, blocks);
  for (size_t row = 0; row < shape.rows; row += kRowGroup) {
    table.quantize_rows(x.data() + row * shape.columns, shape.columns, row,
                        std::min(kRowGroup, shape.rows - row), activations.out);
  }
  Aligned<uint8_t> scratch(kPackedScratchBytes);
  std::vector<float> y(shape.rows * shape.outputs);
  table.multiply_packed({.w = {.type = shape.type,
                               .outputs = shape.outputs,
                               .blocks = blocks,
                               .group_bytes = group_bytes,
                               .data = packed.data()},
                         .first_group = 0,
                         .groups = groups,
                         .x = activations.view(),
                         .first_row = 0,
                         .rows = shape.rows,
                         .y = y.data(),
                         .y_stride = shape.outputs,
                         .scratch = scratch.data()});
  return y;
}

class IntegerKernelsTest : public ::testing::TestWithParam<size_t> {};

TEST_P(IntegerKernelsTest, EqualTheScalarKernelsBitForBit) {
  KernelTable table;
  Candidates()[GetParam()].fill(&table);
  KernelTable scalar;
  integer::FillScalar(&scalar);
  for (const TensorType type : kTypes) {
    const size_t unit = PackedFormatOf(type).file_columns;
    for (const size_t rows : {1U, 2U, 3U, 7U, 8U, 16U, 21U, 70U}) {
      for (const size_t columns : {unit, unit == 32 ? 27 * 32 : 4 * unit}) {
        const Shape shape{type, rows, 53, columns};
        const std::vector<float> y = MultiplyWith(table, shape);
        const std::vector<float> expected = MultiplyWith(scalar, shape);
        ASSERT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return std::isfinite(v); }));
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
            << TensorTypeName(type) << ", " << rows << " rows, " << columns << " columns";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTables, IntegerKernelsTest,
                         ::testing::Range<size_t>(0, Candidates().size()), [](const auto& param) {
                           return std::string(Candidates()[param.param].name);
                         });

}  // namespace
}  // namespace ruvd::inference
