// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the integer products of every table that this machine can run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/linear.h"
#include "tests/inference/random_blocks.h"

namespace ruvd::inference {
namespace {

using test::kPackedTypes;
using test::RandomBlocks;

struct Operands {
  Matrix w;
  std::vector<uint8_t> bytes;
  std::vector<float> x;
  size_t rows = 0;
};

Operands RandomOperands(TensorType type, size_t rows, int outputs, int columns, uint64_t seed) {
  Random random(seed);
  const auto width = static_cast<size_t>(columns);
  Operands made{.w = {.type = type, .rows = outputs, .columns = columns},
                .bytes = RandomBlocks(type, static_cast<size_t>(outputs) * width, random),
                .x = std::vector<float>(rows * width),
                .rows = rows};
  made.w.data = made.bytes.data();
  for (float& value : made.x) {
    value = static_cast<float>(random.Normal());
  }
  return made;
}

std::vector<float> Product(const Operands& o, ParallelRunner& runner = SerialRunner()) {
  const PackedMatrix packed = PackedMatrix::Pack(runner, o.w);
  QuantizedRows x;
  Quantize(runner, o.x, packed.columns(), &x);
  std::vector<float> y(o.rows * packed.outputs(), -7.0F);
  const PackedTask task{.w = &packed, .y = y.data(), .y_stride = packed.outputs()};
  Multiply(runner, x, {&task, 1});
  return y;
}

// Returns the value that an activation has after rounding by packed.h's rules, in a second
// implementation.
std::vector<double> Rounded(const std::vector<float>& x) {
  std::vector<double> out(x.size());
  for (size_t begin = 0; begin < x.size(); begin += 32) {
    float largest = 0;
    for (size_t i = begin; i < begin + 32; ++i) {
      largest = std::max(largest, std::abs(x[i]));
    }
    const float scale = largest / 127.0F;
    const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
    for (size_t i = begin; i < begin + 32; ++i) {
      out[i] = static_cast<double>(scale) * std::nearbyint(x[i] * inverse);
    }
  }
  return out;
}

void ExpectProduct(const Operands& o, const std::vector<float>& y) {
  const auto columns = static_cast<size_t>(o.w.columns);
  const auto outputs = static_cast<size_t>(o.w.rows);
  std::vector<float> w(outputs * columns);
  ASSERT_TRUE(Dequantize(o.w.type, o.bytes, w).ok());
  const std::vector<double> x = Rounded(o.x);
  for (size_t i = 0; i < o.rows; ++i) {
    for (size_t j = 0; j < outputs; ++j) {
      double sum = 0;
      double scale = 0;
      for (size_t k = 0; k < columns; ++k) {
        const double product = x[i * columns + k] * w[j * columns + k];
        sum += product;
        scale += std::abs(product);
      }
      // K-quants with large minima subtract two large terms.
      ASSERT_NEAR(y[i * outputs + j], sum, 1e-5 * scale + 1e-6)
          << TensorTypeName(o.w.type) << ": row " << i << " of " << o.rows << ", output " << j
          << " of " << outputs << ", " << columns << " columns, " << Kernels().name;
    }
  }
}

const std::vector<KernelTable>& PackedTables() {
  static const auto* const tables = new std::vector<KernelTable>(AvailableKernels());
  return *tables;
}

class PackedKernelsTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(ForceKernels(PackedTables()[GetParam()].name).ok()); }
  void TearDown() override { ASSERT_TRUE(ForceKernels("").ok()); }
};

int SmallestColumns(TensorType type) {
  return static_cast<int>(BlockValues(type));
}

TEST_P(PackedKernelsTest, MultipliesAsDecodedWeightsDo) {
  for (const TensorType type : kPackedTypes) {
    const int unit = SmallestColumns(type);
    for (const size_t rows : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 17U, 35U}) {
      const Operands o = RandomOperands(type, rows, 49, 3 * unit, rows);
      ExpectProduct(o, Product(o));
    }
  }
}

TEST_P(PackedKernelsTest, MultipliesOddShapes) {
  for (const TensorType type : kPackedTypes) {
    const int unit = SmallestColumns(type);
    for (const int outputs : {1, 15, 16, 17, 31, 32, 33, 64, 80}) {
      for (const size_t rows : {1U, 6U, 33U}) {
        const Operands o = RandomOperands(type, rows, outputs, unit, rows + 100);
        ExpectProduct(o, Product(o));
      }
    }
    // More blocks than a panel holds, and an odd number of them.
    for (const size_t rows : {1U, 9U}) {
      const Operands o = RandomOperands(type, rows, 20, unit == 32 ? 49 * 32 : 5 * 256, 7);
      ExpectProduct(o, Product(o));
    }
  }
}

// More rows than one item holds.
TEST_P(PackedKernelsTest, MultipliesManyRows) {
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ6_K}) {
    for (const size_t rows : {103U, 300U}) {
      const Operands o = RandomOperands(type, rows, 19, 256, 5);
      ExpectProduct(o, Product(o));
    }
  }
}

// The best table against the plainest, and one row against many: bit for bit.
TEST_P(PackedKernelsTest, AgreesWithTheScalarTableBitForBit) {
  for (const TensorType type : kPackedTypes) {
    for (const size_t rows : {1U, 2U, 3U, 4U, 7U, 8U, 13U, 16U, 31U, 71U}) {
      const int unit = SmallestColumns(type);
      const Operands o = RandomOperands(type, rows, 67, unit == 32 ? 31 * 32 : 4 * 256, rows);
      const std::vector<float> y = Product(o);
      ASSERT_TRUE(ForceKernels("scalar").ok());
      const std::vector<float> expected = Product(o);
      ASSERT_TRUE(ForceKernels(PackedTables()[GetParam()].name).ok());
      ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
          << TensorTypeName(type) << ", " << rows << " rows";
    }
  }
}

TEST_P(PackedKernelsTest, ResultsDoNotDependOnTheCompany) {
  for (const TensorType type : kPackedTypes) {
    const Operands all = RandomOperands(type, 37, 40, 512, 3);
    const std::vector<float> together = Product(all);
    ThreadParallelRunner threads(3);
    EXPECT_EQ(Product(all, threads), together) << TensorTypeName(type);
    for (const size_t row : {0U, 15U, 16U, 36U}) {
      Operands one = all;
      one.rows = 1;
      one.x.assign(all.x.begin() + static_cast<std::ptrdiff_t>(row * 512),
                   all.x.begin() + static_cast<std::ptrdiff_t>((row + 1) * 512));
      const std::vector<float> alone = Product(one);
      ASSERT_EQ(std::memcmp(alone.data(), together.data() + row * 40, 40 * sizeof(float)), 0)
          << TensorTypeName(type) << ", row " << row;
    }
  }
}

TEST_P(PackedKernelsTest, RunsSeveralProductsInOneRegionAndKeepsToItsColumns) {
  const Operands a = RandomOperands(TensorType::kQ4_0, 9, 33, 256, 1);
  Operands b = RandomOperands(TensorType::kQ6_K, 9, 48, 256, 2);
  b.x = a.x;
  const PackedMatrix packed_a = PackedMatrix::Pack(SerialRunner(), a.w);
  const PackedMatrix packed_b = PackedMatrix::Pack(SerialRunner(), b.w);
  QuantizedRows x;
  Quantize(SerialRunner(), a.x, 256, &x);
  std::vector<float> y(9 * 100, -7.0F);
  const PackedTask tasks[] = {{.w = &packed_a, .y = y.data(), .y_stride = 100},
                              {.w = &packed_b, .y = y.data() + 40, .y_stride = 100}};
  ThreadParallelRunner runner(2);
  Multiply(runner, x, tasks);
  const std::vector<float> alone_a = Product(a);
  const std::vector<float> alone_b = Product(b);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(std::memcmp(&y[i * 100], &alone_a[i * 33], 33 * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(&y[i * 100 + 40], &alone_b[i * 48], 48 * sizeof(float)), 0);
    for (const size_t untouched : {33U, 39U, 88U, 99U}) {
      EXPECT_EQ(y[i * 100 + untouched], -7.0F);
    }
  }
}

// All codes at their ends: the largest sums that can occur, in both signs.
TEST_P(PackedKernelsTest, ExtremeCodesAreExact) {
  for (const TensorType type : kPackedTypes) {
    for (const int fill : {0x00, 0x80, 0xFF, 0x7F}) {
      for (const size_t rows : {1U, 8U}) {
        const int unit = SmallestColumns(type);
        Operands o = RandomOperands(type, rows, 16, 2 * unit, 1);
        std::fill(o.bytes.begin(), o.bytes.end(), static_cast<uint8_t>(fill));
        for (size_t at = 0; at < o.bytes.size(); at += BlockBytes(type)) {
          for (const size_t half : test::HalvesOf(type)) {
            test::SetHalf(o.bytes, at + half, half == 2 ? 0x0000 : 0x3C00);
          }
        }
        for (size_t i = 0; i < o.x.size(); ++i) {
          o.x[i] = i / 32 % 2 == 0 ? -127.0F : 127.0F;
        }
        ExpectProduct(o, Product(o));
      }
    }
  }
}

TEST_P(PackedKernelsTest, SubnormalScalesAndZeroRows) {
  for (const TensorType type : kPackedTypes) {
    Operands o = RandomOperands(type, 3, 18, 256, 1);
    for (size_t at = 0; at < o.bytes.size(); at += BlockBytes(type)) {
      for (const size_t half : test::HalvesOf(type)) {
        test::SetHalf(o.bytes, at + half, 0x8003);
      }
    }
    std::fill(o.x.begin() + 256, o.x.begin() + 512, 0.0F);
    const std::vector<float> y = Product(o);
    ExpectProduct(o, y);
    for (size_t j = 0; j < 18; ++j) {
      EXPECT_EQ(y[18 + j], 0.0F);
    }
  }
}

TEST_P(PackedKernelsTest, WhatIsNotFiniteStaysInItsRow) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t rows : {3U, 20U}) {
      Operands o = RandomOperands(TensorType::kQ4_0, rows, 18, 96, 1);
      const std::vector<float> before = Product(o);
      o.x[96 + 40] = bad;
      const std::vector<float> y = Product(o);
      for (size_t i = 0; i < y.size(); ++i) {
        if (i / 18 == 1) {
          EXPECT_TRUE(std::isnan(y[i]));
        } else {
          EXPECT_EQ(y[i], before[i]);
        }
      }
    }
  }
}

TEST_P(PackedKernelsTest, LargestAndTiniestActivations) {
  Operands o = RandomOperands(TensorType::kQ8_0, 2, 4, 64, 1);
  std::fill(o.x.begin(), o.x.end(), std::numeric_limits<float>::max());
  for (const float value : Product(o)) {
    EXPECT_FALSE(std::isnan(value));
  }
  std::fill(o.x.begin(), o.x.end(), std::numeric_limits<float>::denorm_min());
  EXPECT_THAT(Product(o), ::testing::Each(0.0F));
}

INSTANTIATE_TEST_SUITE_P(AllTables, PackedKernelsTest,
                         ::testing::Range<size_t>(0, PackedTables().size()), [](const auto& param) {
                           std::string name = PackedTables()[param.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PackedMatrixTest, TakesAtMostThreePercentMoreThanTheFile) {
  Random random(1);
  for (const TensorType type : kPackedTypes) {
    const Matrix w{.type = type, .rows = 64, .columns = 1024};
    const auto file = static_cast<double>(RowBytes(w) * 64);
    EXPECT_LE(static_cast<double>(PackedMatrix::Bytes(w)), 1.03 * file) << TensorTypeName(type);
  }
  EXPECT_FALSE(PackedMatrix::Supports(TensorType::kF32));
  EXPECT_FALSE(PackedMatrix::Supports(TensorType::kBF16));
}

TEST(PackedMatrixTest, ReportsRowsThatAreNotNeededAnyMore) {
  const Operands o = RandomOperands(TensorType::kQ8_0, 1, 5000, 2048, 1);
  std::vector<size_t> reports;
  PackedMatrix::Pack(SerialRunner(), o.w, [&](size_t rows) { reports.push_back(rows); });
  ASSERT_GE(reports.size(), 2u);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), 5000u);
}

TEST(KernelChoiceTest, RefusesUnknownNamesAndListsWhatThereIs) {
  const absl::Status status = ForceKernels("pentium");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("pentium"), ::testing::HasSubstr("scalar")));
  EXPECT_TRUE(ForceKernels("scalar").ok());
  EXPECT_STREQ(Kernels().name, "scalar");
  EXPECT_THAT(KernelChoiceReason(), ::testing::HasSubstr("requested by"));
  EXPECT_TRUE(ForceKernels("").ok());
  EXPECT_THAT(KernelChoiceReason(), ::testing::HasSubstr("best"));
}

TEST(KernelChoiceTest, EveryAvailableCandidateHasATable) {
  size_t available = 0;
  for (const KernelCandidate& candidate : KernelCandidates()) {
    EXPECT_EQ(ForceKernels(candidate.name).ok(), candidate.available) << candidate.name;
    EXPECT_FALSE(candidate.reason.empty());
    available += candidate.available ? 1 : 0;
  }
  EXPECT_EQ(available, PackedTables().size());
  EXPECT_TRUE(ForceKernels("").ok());
}

}  // namespace
}  // namespace ruvd::inference
