// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests products of matrices that are rounded to bfloat16, on machines that have them.

#include "inference/model/rounded_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/linear.h"

namespace ruvd::inference {
namespace {

// The nearest bfloat16, and of two equally near ones the even one, by integer arithmetic.
double ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits += 0x7FFF + ((bits >> 16) & 1);
  bits &= 0xFFFF0000;
  float rounded;
  std::memcpy(&rounded, &bits, sizeof(rounded));
  return double{rounded};
}

struct Shape {
  TensorType type;
  size_t outputs;
  size_t columns;
  size_t rows;
};

class RoundedLinearTest : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (Kernels().rounded == nullptr) {
      GTEST_SKIP() << "this machine has no fast products of bfloat16";
    }
    const Shape& shape = GetParam();
    bytes_ = Quantize(shape.type, SomeFloats(shape.outputs * shape.columns)).value();
    matrix_ = {.type = shape.type,
               .rows = static_cast<int>(shape.outputs),
               .columns = static_cast<int>(shape.columns),
               .data = reinterpret_cast<const uint8_t*>(bytes_.data())};
    weights_.resize(shape.outputs * shape.columns);
    ASSERT_TRUE(Dequantize(shape.type,
                           {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()},
                           weights_)
                    .ok());
  }
  std::vector<float> SomeFloats(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(random_.Normal());
    }
    return values;
  }
  double Weight(size_t output, size_t column) const {
    return ToBf16(weights_[output * GetParam().columns + column]);
  }

  Random random_{3};
  std::string bytes_;
  Matrix matrix_;
  std::vector<float> weights_;
  AlignedBuffer scratch_;
};

TEST_P(RoundedLinearTest, ForwardProductsAreThoseOfTheRoundedFactors) {
  const auto [type, outputs, columns, rows] = GetParam();
  ASSERT_TRUE(HasRoundedProducts(matrix_));
  const std::vector<float> x = SomeFloats(rows * columns);
  std::vector<float> y(rows * outputs, NAN);
  MultiplyRounded(SerialRunner(), x, matrix_, y, &scratch_);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < outputs; ++j) {
      double sum = 0;
      for (size_t k = 0; k < columns; ++k) {
        sum += ToBf16(x[i * columns + k]) * Weight(j, k);
      }
      ASSERT_NEAR(y[i * outputs + j], sum, 2e-4) << i << ' ' << j;
    }
  }
  std::vector<float> again(y.size());
  ThreadParallelRunner threads(3);
  MultiplyRounded(threads, x, matrix_, again, &scratch_);
  EXPECT_EQ(std::memcmp(again.data(), y.data(), y.size() * sizeof(float)), 0);
}

TEST_P(RoundedLinearTest, BackwardProductsAreThoseOfTheRoundedFactors) {
  const auto [type, outputs, columns, rows] = GetParam();
  const std::vector<float> dy = SomeFloats(rows * outputs);
  const std::vector<float> before = SomeFloats(rows * columns);
  for (const bool accumulate : {false, true}) {
    std::vector<float> dx = before;
    MultiplyTransposedRounded(SerialRunner(), dy, matrix_, dx, accumulate, &scratch_);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t k = 0; k < columns; ++k) {
        double sum = accumulate ? double{before[i * columns + k]} : 0;
        for (size_t j = 0; j < outputs; ++j) {
          sum += ToBf16(dy[i * outputs + j]) * Weight(j, k);
        }
        ASSERT_NEAR(dx[i * columns + k], sum, 2e-4) << i << ' ' << k;
      }
    }
    std::vector<float> again = before;
    ThreadParallelRunner threads(3);
    MultiplyTransposedRounded(threads, dy, matrix_, again, accumulate, &scratch_);
    EXPECT_EQ(std::memcmp(again.data(), dx.data(), dx.size() * sizeof(float)), 0);
  }
}

// Rows that fill no tile, one tile, or two and a part; more than a task of groups; an odd number of
// groups is impossible, because sizes are multiples of 32; more rows of w than are packed at a
// time.
INSTANTIATE_TEST_SUITE_P(
    Shapes, RoundedLinearTest,
    testing::Values(Shape{TensorType::kF32, 32, 32, 3}, Shape{TensorType::kF32, 64, 32, 16},
                    Shape{TensorType::kF16, 96, 64, 17}, Shape{TensorType::kQ8_0, 288, 96, 31},
                    Shape{TensorType::kQ8_0, 544, 288, 33}, Shape{TensorType::kQ4_0, 64, 544, 47},
                    Shape{TensorType::kQ4_K, 1056, 512, 65}));

TEST(HasRoundedProductsTest, OddSizesStayExact) {
  const Matrix odd{.type = TensorType::kF32, .rows = 48, .columns = 64, .data = nullptr};
  const Matrix even{.type = TensorType::kF32, .rows = 64, .columns = 64, .data = nullptr};
  EXPECT_FALSE(HasRoundedProducts(odd));
  EXPECT_EQ(HasRoundedProducts(even), Kernels().rounded != nullptr);
}

}  // namespace
}  // namespace ruvd::inference
