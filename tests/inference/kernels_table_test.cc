// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

constexpr TensorType kDecoded[] = {TensorType::kF32, TensorType::kF16, TensorType::kBF16,
                                   TensorType::kQ8_0, TensorType::kQ4_0};

std::vector<float> RandomFloats(size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
  }
  return values;
}

// Random bytes whose scales and halves are finite, so that products can be compared.
std::string BlocksOf(TensorType type, size_t values, Random& random) {
  if (type == TensorType::kBF16) {  // Quantize does not write it
    std::string bytes;
    for (const float value : RandomFloats(values, random)) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      bytes.push_back(static_cast<char>((bits >> 16) & 0xFF));
      bytes.push_back(static_cast<char>(bits >> 24));
    }
    return bytes;
  }
  return Quantize(type, RandomFloats(values, random)).value();
}

std::vector<float> Decoded(TensorType type, const std::string& bytes, size_t values) {
  std::vector<float> out(values);
  EXPECT_TRUE(
      Dequantize(type, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, out).ok());
  return out;
}

const std::vector<KernelTable>& Tables() {
  static const auto* const tables = new std::vector<KernelTable>(KernelsOfAllTargets());
  return *tables;
}

class KernelsTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override { kernels_ = Tables()[GetParam()]; }
  KernelTable kernels_;
  Random random_{7};
};

// The values 0..65535 as halves cover zeros, subnormals and all scales; infinities and NaNs are
// left out.
TEST_P(KernelsTest, DecodesEveryFiniteHalfBitForBit) {
  std::string bytes;
  for (uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7C00) != 0x7C00) {
      bytes.push_back(static_cast<char>(half & 0xFF));
      bytes.push_back(static_cast<char>(half >> 8));
    }
  }
  std::vector<float> out(bytes.size() / 2);
  kernels_.decode(TensorType::kF16, reinterpret_cast<const uint8_t*>(bytes.data()), out.size(),
                  out.data());
  const std::vector<float> expected = Decoded(TensorType::kF16, bytes, out.size());
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
}

TEST_P(KernelsTest, DecodesRandomBlocksBitForBit) {
  for (const TensorType type : kDecoded) {
    ASSERT_TRUE(kernels_.decodes(type));
    std::string bytes = BlocksOf(type, 4096, random_);
    // Sets negative and negative-zero scales in the block formats.
    if (type == TensorType::kQ8_0 || type == TensorType::kQ4_0) {
      bytes[1] = static_cast<char>(0x80);
      bytes[0] = 0;
      bytes[BlockBytes(type) + 1] = static_cast<char>(0xB4);
    }
    std::vector<float> out(4096);
    kernels_.decode(type, reinterpret_cast<const uint8_t*>(bytes.data()), out.size(), out.data());
    const std::vector<float> expected = Decoded(type, bytes, out.size());
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
        << TensorTypeName(type);
  }
  EXPECT_FALSE(kernels_.decodes(TensorType::kQ6_K));
}

struct AbtShape {
  size_t rows, outputs, columns;
};

void CheckAbt(const KernelTable& kernels, TensorType type, const AbtShape& shape, Random& random) {
  const auto [rows, outputs, columns] = shape;
  const std::string bytes = BlocksOf(type, outputs * columns, random);
  const std::vector<float> b = Decoded(type, bytes, outputs * columns);
  const size_t a_stride = columns + 3;
  const std::vector<float> a = RandomFloats(rows * a_stride, random);
  const size_t y_stride = outputs + 2;
  std::vector<float> y(rows * y_stride, -7.0F);
  std::vector<float> panel(5 * columns);  // forces several panels, the last one cut
  kernels.multiply_abt({.a = a.data(),
                        .a_stride = a_stride,
                        .rows = rows,
                        .b = reinterpret_cast<const uint8_t*>(bytes.data()),
                        .b_stride = bytes.size() / outputs,
                        .b_type = type,
                        .outputs = outputs,
                        .columns = columns,
                        .y = y.data(),
                        .y_stride = y_stride,
                        .panel = panel.data(),
                        .panel_floats = panel.size()});
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < outputs; ++j) {
      double sum = 0;
      double scale = 0;
      for (size_t k = 0; k < columns; ++k) {
        const double product = static_cast<double>(a[i * a_stride + k]) * b[j * columns + k];
        sum += product;
        scale += std::abs(product);
      }
      ASSERT_NEAR(y[i * y_stride + j], sum, 1e-6 * scale + 1e-12)
          << TensorTypeName(type) << " " << rows << " x " << outputs << " x " << columns;
    }
    EXPECT_EQ(y[i * y_stride + outputs], -7.0F) << "wrote beyond the row";
  }
}

TEST_P(KernelsTest, MultipliesWithTransposedWeights) {
  for (const TensorType type : kDecoded) {
    for (size_t rows = 1; rows <= 9; ++rows) {
      CheckAbt(kernels_, type, {rows, 17, 64}, random_);
    }
    CheckAbt(kernels_, type, {21, 1, 32}, random_);
    CheckAbt(kernels_, type, {2, 50, 256}, random_);
  }
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
    CheckAbt(kernels_, type, {5, 7, 37}, random_);
    CheckAbt(kernels_, type, {1, 9, 3}, random_);
    CheckAbt(kernels_, type, {6, 3, 1}, random_);
  }
}

// The sum of one output does not depend on which other rows and outputs it is computed with.
TEST_P(KernelsTest, ResultsDoNotDependOnTheCompany) {
  const size_t columns = 96;
  for (const TensorType type : kDecoded) {
    const std::string bytes = BlocksOf(type, 20 * columns, random_);
    const std::vector<float> a = RandomFloats(11 * columns, random_);
    std::vector<float> all(11 * 20), panel(20 * columns), one(1);
    ProductAbt product{.a = a.data(),
                       .a_stride = columns,
                       .rows = 11,
                       .b = reinterpret_cast<const uint8_t*>(bytes.data()),
                       .b_stride = bytes.size() / 20,
                       .b_type = type,
                       .outputs = 20,
                       .columns = columns,
                       .y = all.data(),
                       .y_stride = 20,
                       .panel = panel.data(),
                       .panel_floats = panel.size()};
    kernels_.multiply_abt(product);
    for (size_t i = 0; i < 11; ++i) {
      for (size_t j = 0; j < 20; ++j) {
        ProductAbt single = product;
        single.a += i * columns;
        single.b += j * product.b_stride;
        single.rows = single.outputs = 1;
        single.y = one.data();
        kernels_.multiply_abt(single);
        ASSERT_EQ(one[0], all[i * 20 + j]) << TensorTypeName(type) << " " << i << " " << j;
      }
    }
  }
}

TEST_P(KernelsTest, MultipliesPlainAndAccumulates) {
  for (const size_t columns : {1U, 16U, 19U, 70U, 128U}) {
    for (const size_t rows : {1U, 3U, 4U, 6U, 9U}) {
      const size_t inner = 23;
      const std::vector<float> a = RandomFloats(rows * inner, random_);
      const std::vector<float> b = RandomFloats(inner * columns, random_);
      const std::vector<float> before = RandomFloats(rows * columns, random_);
      for (const bool accumulate : {false, true}) {
        std::vector<float> y = before;
        kernels_.multiply_ab({.a = a.data(),
                              .a_stride = inner,
                              .rows = rows,
                              .inner = inner,
                              .b = b.data(),
                              .b_stride = columns,
                              .columns = columns,
                              .y = y.data(),
                              .y_stride = columns,
                              .accumulate = accumulate});
        for (size_t i = 0; i < rows * columns; ++i) {
          double sum = accumulate ? before[i] : 0;
          for (size_t k = 0; k < inner; ++k) {
            sum += static_cast<double>(a[i / columns * inner + k]) * b[k * columns + i % columns];
          }
          ASSERT_NEAR(y[i], sum, 2e-5) << rows << " x " << columns;
        }
      }
    }
  }
}

TEST_P(KernelsTest, NormalisesByTheRootMeanSquare) {
  for (const size_t n : {1U, 8U, 37U, 256U}) {
    const std::vector<float> x = RandomFloats(n, random_);
    const std::vector<float> weight = RandomFloats(n, random_);
    std::vector<float> y(n);
    kernels_.rms_norm(x.data(), weight.data(), 1e-3F, n, y.data());
    double squares = 0;
    for (const float value : x) {
      squares += static_cast<double>(value) * value;
    }
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-3);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(y[i], x[i] * factor * weight[i], 1e-5);
    }
  }
}

TEST_P(KernelsTest, RotatesHalvesAndKeepsLengths) {
  for (const size_t half : {1U, 8U, 21U, 32U}) {
    std::vector<float> x = RandomFloats(2 * half, random_);
    const std::vector<float> before = x;
    std::vector<float> cosine(half), sine(half);
    for (size_t i = 0; i < half; ++i) {
      cosine[i] = std::cos(static_cast<float>(i));
      sine[i] = std::sin(static_cast<float>(i));
    }
    kernels_.rotate(x.data(), cosine.data(), sine.data(), half);
    for (size_t i = 0; i < half; ++i) {
      EXPECT_NEAR(x[i], before[i] * cosine[i] - before[half + i] * sine[i], 1e-6);
      EXPECT_NEAR(x[half + i], before[half + i] * cosine[i] + before[i] * sine[i], 1e-6);
    }
    std::vector<float> y(2 * half);  // the same pairs side by side
    for (size_t i = 0; i < half; ++i) {
      y[2 * i] = before[i];
      y[2 * i + 1] = before[half + i];
    }
    kernels_.rotate_adjacent(y.data(), cosine.data(), sine.data(), half);
    for (size_t i = 0; i < half; ++i) {
      EXPECT_NEAR(y[2 * i], x[i], 1e-6);
      EXPECT_NEAR(y[2 * i + 1], x[half + i], 1e-6);
    }
  }
}

TEST_P(KernelsTest, ComputesSwigluAtOrdinaryAndExtremeGates) {
  std::vector<float> gate = RandomFloats(35, random_);
  gate[0] = -1000.0F;
  gate[1] = 1000.0F;
  gate[33] = -1000.0F;
  gate[34] = 1000.0F;
  const std::vector<float> up = RandomFloats(35, random_);
  std::vector<float> out(35);
  kernels_.swiglu(gate.data(), up.data(), gate.size(), out.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double silu = gate[i] / (1.0 + std::exp(-static_cast<double>(gate[i])));
    EXPECT_NEAR(out[i], silu * up[i], 1e-6 * std::abs(silu) + 1e-6) << i;
  }
}

TEST_P(KernelsTest, ReducesAndAdds) {
  for (const size_t n : {1U, 15U, 16U, 100U}) {
    const std::vector<float> x = RandomFloats(n, random_);
    EXPECT_EQ(kernels_.max(x.data(), n), *std::max_element(x.begin(), x.end()));
    double sum = 0;
    for (const float value : x) {
      sum += std::exp(static_cast<double>(value) - 4.0);
    }
    EXPECT_NEAR(kernels_.sum_exp(x.data(), n, 4.0F), sum, 1e-5 * sum);
    std::vector<float> y(n, 1.0F);
    kernels_.add(x.data(), n, y.data());
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(y[i], 1.0F + x[i]);
    }
  }
}

TEST_P(KernelsTest, FindsTheTwoLargestAndTheFirstOfEqualOnes) {
  Random random(3);
  for (const size_t n : {0, 1, 2, 15, 16, 17, 33, 100}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> x(n);
      for (float& value : x) {
        value = static_cast<float>(random.Below(8)) - 4.0F;
      }
      std::vector<float> sorted = x;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      const TopTwo top = kernels_.top_two(x.data(), n);
      const float none = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(top.first, n > 0 ? sorted[0] : none);
      EXPECT_EQ(top.second, n > 1 ? sorted[1] : none);
      if (n > 0) {
        EXPECT_EQ(top.place,
                  static_cast<size_t>(std::find(x.begin(), x.end(), sorted[0]) - x.begin()));
      }
    }
  }
}

TEST_P(KernelsTest, FindsThePlacesOfValuesThatAreLargeEnough) {
  Random random(5);
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (const size_t n : {0, 1, 15, 16, 17, 33, 100, 1024}) {
    for (const float least : {-9.0F, -1.0F, 0.0F, 2.0F, 9.0F}) {
      std::vector<float> x(n);
      std::vector<uint32_t> wanted;
      for (size_t i = 0; i < n; ++i) {
        const auto drawn = static_cast<float>(random.Below(8)) - 4.0F;
        x[i] = drawn == 3.0F ? none : drawn;
        if (x[i] >= least) {
          wanted.push_back(static_cast<uint32_t>(i));
        }
      }
      std::vector<uint32_t> places(n);
      places.resize(kernels_.find_above(x.data(), n, least, places.data()));
      EXPECT_EQ(places, wanted);
    }
  }
}

TEST_P(KernelsTest, SumsScoresAndFindsTheLargeOnes) {
  Random random(6);
  const float none = -std::numeric_limits<float>::infinity();
  for (const size_t n : {16, 32, 144}) {
    std::vector<float> scores = RandomFloats(n, random);
    std::vector<float> biases = RandomFloats(n, random);
    biases[0] = biases[n / 2] = none;
    scores[n / 2] = 1e6F;  // has no bias, so it does not count
    float before = none;
    float largest = none;
    double mass = 0;
    std::vector<uint32_t> wanted;
    std::vector<float> sums(n);
    for (size_t i = 0; i < n; ++i) {
      before = biases[i] > none ? std::max(before, scores[i]) : before;
      sums[i] = scores[i] + biases[i];
      largest = std::max(largest, sums[i]);
      mass += std::exp(static_cast<double>(sums[i]) - 8);
      if (sums[i] >= 1) {
        wanted.push_back(static_cast<uint32_t>(i));
      }
    }
    EXPECT_EQ(kernels_.add_biases(biases.data(), n, scores.data()), before);
    EXPECT_EQ(scores, sums);
    std::vector<uint32_t> places(n);
    const ScoreSums found = kernels_.sum_scores(scores.data(), n, 8, 1, places.data());
    places.resize(found.found);
    EXPECT_EQ(places, wanted);
    EXPECT_EQ(found.largest, largest);
    EXPECT_NEAR(found.mass, mass, 1e-5 * mass);
  }
}

TEST_P(KernelsTest, SumsExponentialsAndTheirEnergy) {
  Random random(4);
  for (const size_t n : {1, 15, 16, 100, 8192}) {
    std::vector<float> x(n);
    for (float& value : x) {
      value = static_cast<float>(random.Normal() * 4);
    }
    x[n / 2] = -1e30F;
    const float shift = *std::max_element(x.begin(), x.end());
    double mass = 0;
    double energy = 0;
    for (const float value : x) {
      const double difference = std::max(static_cast<double>(value) - shift, -100.0);
      mass += std::exp(difference);
      energy += difference * std::exp(difference);
    }
    const ExpSums sums = kernels_.exp_sums(x.data(), n, shift);
    EXPECT_NEAR(sums.mass, mass, 1e-5 * mass);
    EXPECT_NEAR(sums.energy, energy, 1e-5 * (1 + std::abs(energy)));
  }
}

// Found by review: a row of NaN whose length is a multiple of a vector gave the place after its
// end.
TEST_P(KernelsTest, ARowOfNaNHasAPlaceInsideAndNoMass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t n = 1; n <= 130; ++n) {
    const std::vector<float> x(n, nan);
    EXPECT_LT(kernels_.top_two(x.data(), n).place, n);
    EXPECT_TRUE(std::isnan(kernels_.exp_sums(x.data(), n, 0.0F).mass)) << n;
  }
}

TEST_P(KernelsTest, OneValueThatIsNoNumberSpoilsTheMass) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    for (const size_t n : {1, 7, 16, 17, 64, 100}) {
      for (const size_t place : {size_t{0}, n / 2, n - 1}) {
        std::vector<float> x(n, -1.0F);
        x[place] = bad;
        EXPECT_LT(kernels_.top_two(x.data(), n).place, n);
        EXPECT_TRUE(std::isnan(kernels_.exp_sums(x.data(), n, -1.0F).mass)) << n << " " << place;
      }
    }
  }
  const std::vector<float> least(20, -infinity);
  EXPECT_TRUE(std::isnan(kernels_.exp_sums(least.data(), least.size(), -infinity).mass));
}

INSTANTIATE_TEST_SUITE_P(AllTargets, KernelsTest, ::testing::Range<size_t>(0, Tables().size()),
                         [](const auto& param) {
                           return std::string(Tables()[param.param].target);
                         });

TEST(KernelTableTest, ChoosesTheBestTargetOnce) {
  const std::vector<KernelTable> all = KernelsOfAllTargets();
  ASSERT_FALSE(all.empty());
  ASSERT_TRUE(ForceKernels("").ok());  // RUVD_KERNELS may name another
  EXPECT_STREQ(Kernels().target, all.front().target);
  EXPECT_EQ(&Kernels(), &Kernels());
}

}  // namespace
}  // namespace ruvd::inference
