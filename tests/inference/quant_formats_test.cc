// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/half.h"
#include "inference/gguf/quantize.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

std::vector<float> EncodedAndDecoded(TensorType type, const std::vector<float>& values) {
  const std::string bytes = Quantize(type, values).value();
  std::vector<float> out(values.size());
  EXPECT_TRUE(Dequantize(type, AsBytes(bytes), out).ok());
  return out;
}

TEST(HalfTest, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      EXPECT_EQ(FloatToHalf(value), half);
    }
  }
}

TEST(HalfTest, AgreesWithTheDefinition) {
  for (uint32_t half = 0; half < 0x7C00; ++half) {
    const int exponent = static_cast<int>(half >> 10);
    const double mantissa = half & 0x3FF;
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(HalfToFloat(static_cast<uint16_t>(half)), expected) << half;
  }
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3C00);             // tie: down to even
  EXPECT_EQ(FloatToHalf(1.0F + 3 * 0x1p-11F), 0x3C02);         // tie: up to even
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);  // just above a tie
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0);                         // tie between 0 and 2^-24
  EXPECT_EQ(FloatToHalf(3 * 0x1p-25F), 2);
  EXPECT_EQ(FloatToHalf(-0.0F), 0x8000);
  EXPECT_EQ(FloatToHalf(65504.0F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65519.99F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(FloatToHalf(0x1.ffcp-15F + 0x1p-26F), 0x0400);  // rounds up into the normal range
}

RC_GTEST_PROP(HalfProperty, IsTheNearestHalf, ()) {
  const float value = std::bit_cast<float>(*rc::gen::arbitrary<uint32_t>());
  RC_PRE(std::isfinite(value) && std::fabs(value) < 65504.0F);
  const uint16_t half = FloatToHalf(value);
  const double error = std::fabs(double{HalfToFloat(half)} - value);
  for (const int step : {-1, 1}) {
    const auto neighbour = static_cast<uint16_t>(half + step);
    if ((neighbour & 0x7FFF) < 0x7C00 && (neighbour & 0x8000) == (half & 0x8000)) {
      RC_ASSERT(error <= std::fabs(double{HalfToFloat(neighbour)} - value));
    }
  }
}

TEST(BFloat16Test, RoundTripAndTies) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = BFloat16ToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(FloatToBFloat16(value), bits);
    }
  }
  EXPECT_EQ(FloatToBFloat16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(FloatToBFloat16(1.0F + 3 * 0x1p-8F), 0x3F82);
}

TEST(QuantizeTest, HandComputedQ8Block) {
  std::vector<float> values(32, 0.0F);
  values[0] = 127.0F;  // scale 1
  values[1] = -2.4F;
  values[2] = 2.5F;  // half away from zero
  values[31] = -127.0F;
  const std::string bytes = Quantize(TensorType::kQ8_0, values).value();
  ASSERT_EQ(bytes.size(), 34U);
  EXPECT_EQ(bytes.substr(0, 5), std::string("\x00\x3C\x7F\xFE\x03", 5));
  EXPECT_EQ(bytes[33], '\x81');
}

TEST(QuantizeTest, HandComputedQ4Block) {
  std::vector<float> values(32, 0.0F);
  values[0] = -8.0F;  // the extreme: scale 1, quant 0
  values[16] = 7.0F;  // high half of byte 0
  values[1] = 3.0F;
  const std::string bytes = Quantize(TensorType::kQ4_0, values).value();
  ASSERT_EQ(bytes.size(), 18U);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x00\x3C\xF0\x8B", 4));
}

RC_GTEST_PROP(QuantizeProperty, F32IsUnchanged, (const std::vector<float>& values)) {
  for (const float value : values) {
    RC_PRE(std::isfinite(value));
  }
  RC_ASSERT(EncodedAndDecoded(TensorType::kF32, values) == values);
}

TEST(QuantizeTest, RefusesWhatItCannotDo) {
  const std::vector<float> ones(31, 1.0F);
  EXPECT_EQ(ReasonOf(Quantize(TensorType::kQ8_0, ones).status()), reasons::kInvalidArgument);
  EXPECT_FALSE(Quantize(TensorType::kQ4_K, std::vector<float>(128)).ok());
  EXPECT_FALSE(Quantize(TensorType::kF32, std::vector<float>{NAN}).ok());
  EXPECT_FALSE(Quantize(TensorType::kF16, std::vector<float>{70000.0F}).ok());
  std::vector<float> huge(32, 0.0F);
  huge[3] = 1e38F;
  EXPECT_FALSE(Quantize(TensorType::kQ8_0, huge).ok());
}

TEST(DequantizeTest, RefusesAWrongNumberOfBytes) {
  std::vector<float> values(32);
  const std::vector<uint8_t> bytes(35);
  EXPECT_FALSE(Dequantize(TensorType::kQ8_0, bytes, values).ok());
  EXPECT_FALSE(
      Dequantize(TensorType::kQ8_0, std::span(bytes).first(34), std::span(values).first(31)).ok());
  EXPECT_TRUE(Dequantize(TensorType::kF32, {}, {}).ok());
}

// Blocks of random bits with their values by two independent programs, from ../shared.
class BlockFixtureTest : public testing::TestWithParam<TensorType> {};

TEST_P(BlockFixtureTest, BitForBit) {
  const auto folder = std::filesystem::path(test::SourceDir()) / "../shared/fixtures/blocks";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is absent";
  }
  const std::string stem = (folder / TensorTypeName(GetParam())).string();
  const std::string blocks = ReadFile(stem + ".bin", 1 << 20).value();
  const std::string expected = ReadFile(stem + ".f32", 1 << 20).value();
  std::vector<float> values(expected.size() / 4);
  ASSERT_TRUE(Dequantize(GetParam(), AsBytes(blocks), values).ok());
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(values.data()), expected.size()),
            expected);
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockFixtureTest,
                         testing::Values(TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1,
                                         TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ4_K,
                                         TensorType::kQ5_K, TensorType::kQ6_K),
                         [](const auto& parameter) {
                           return std::string(TensorTypeName(parameter.param));
                         });

}  // namespace
}  // namespace ruvd::inference
