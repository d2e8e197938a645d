// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/half.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "tests/paths.h"

// What Quantize promises for every format: bytes, error bounds, stability, refusals.
namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

const std::vector<TensorType> kAllTypes = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                           TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1,
                                           TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ4_K,
                                           TensorType::kQ5_K, TensorType::kQ6_K};

std::vector<float> Decoded(TensorType type, std::string_view bytes, size_t count) {
  std::vector<float> out(count);
  EXPECT_TRUE(Dequantize(type, AsBytes(bytes), out).ok());
  return out;
}

std::vector<float> RoundTrip(TensorType type, const std::vector<float>& values) {
  const auto bytes = Quantize(type, values);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return Decoded(type, bytes.value_or(""), values.size());
}

double SquaredError(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  }
  return sum;
}

std::vector<float> RandomValues(size_t count, double size, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.Normal() * size);
  }
  return values;
}

class EveryFormatTest : public testing::TestWithParam<TensorType> {};
INSTANTIATE_TEST_SUITE_P(Formats, EveryFormatTest, testing::ValuesIn(kAllTypes),
                         [](const auto& parameter) {
                           return std::string(TensorTypeName(parameter.param));
                         });

TEST_P(EveryFormatTest, ZerosStayZero) {
  const std::vector<float> zeros(512, 0.0F);
  EXPECT_EQ(RoundTrip(GetParam(), zeros), zeros);
}

TEST_P(EveryFormatTest, ConstantsKeepTheirValue) {
  for (const float value : {1.0F, -1.0F, 0.3F, -0.01F, 300.0F}) {
    const std::vector<float> constant(256, value);
    for (const float back : RoundTrip(GetParam(), constant)) {
      // bfloat16 has 8 bits; a block of one value needs its scale only.
      ASSERT_NEAR(back, value, std::fabs(value) * 0x1p-8F) << value;
    }
  }
}

TEST_P(EveryFormatTest, TinyValuesComeBackTiny) {
  // The values are below the least half-precision number; their scales underflow, and the inverse
  // of the least scale is infinite.
  std::vector<float> values(256, 0.0F);
  values[3] = 1e-44F;
  values[4] = -1e-40F;
  values[70] = 1e-20F;
  for (const float back : RoundTrip(GetParam(), values)) {
    ASSERT_LE(std::fabs(back), 1.01e-20F);  // bfloat16 rounds it up
  }
}

// Found by UBSan: a sub-block whose range is far below every scale had an infinite inverse, and
// zero times that became a quant.
TEST_P(EveryFormatTest, RangesWithAnInfiniteInverse) {
  for (const float range : {1e-45F, 1e-42F, 1e-39F, 1e-37F}) {
    std::vector<float> values(256, 0.0F);
    values[0] = range;
    values[100] = -range;
    values[200] = 1.0F;
    const std::vector<float> back = RoundTrip(GetParam(), values);
    for (size_t i = 0; i < 192; ++i) {
      ASSERT_LE(std::fabs(back[i]), 1e-6F) << range;
    }
  }
}

// The reference's rounding of the formats of 32 values ignores how coarse a scale becomes below
// 2^-14; the search of the larger formats does not.
TEST_P(EveryFormatTest, ScalesThatAreSubnormalHalves) {
  for (const double size : {1e-7, 1e-6, 1e-5, 1e-4}) {
    const std::vector<float> values = RandomValues(256, size, 5);
    const std::vector<float> back = RoundTrip(GetParam(), values);
    for (const float value : back) {
      ASSERT_LE(std::fabs(value), 10 * size);
    }
    if (BlockValues(GetParam()) != 32) {
      EXPECT_LE(SquaredError(back, values), SquaredError(std::vector<float>(256), values));
    }
  }
}

// The largest error of a value in units of its block's largest magnitude, for normal values.
double ErrorBound(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return 0;
    case TensorType::kF16:
      return 0x1p-11;
    case TensorType::kBF16:
      return 0x1p-8;
    case TensorType::kQ8_0:
      return 0.5 / 127 + 0x1p-10;
    case TensorType::kQ4_0:  // clips one step at the far end
      return 1.0 / 8 + 0x1p-10;
    case TensorType::kQ5_0:
      return 1.0 / 16 + 0x1p-10;
    case TensorType::kQ4_1:  // a range of up to twice the magnitude in 15 steps
      return 1.0 / 15 + 0x1p-9;
    case TensorType::kQ5_1:
      return 1.0 / 31 + 0x1p-9;
    case TensorType::kQ4_K:  // may clip, if that lowers the sum of squares
      return 0.3;
    case TensorType::kQ5_K:
      return 0.15;
    case TensorType::kQ6_K:
      return 0.1;
  }
  return 0;
}

TEST_P(EveryFormatTest, ErrorStaysInItsBound) {
  const TensorType type = GetParam();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const double size = std::exp(Random(seed).Uniform() * 12 - 6);
    const std::vector<float> values = RandomValues(512, size, seed);
    const std::vector<float> back = RoundTrip(type, values);
    const size_t block = BlockValues(type) == 1 ? 1 : BlockValues(type);
    for (size_t i = 0; i < values.size(); ++i) {
      float largest = 0;
      for (size_t j = i / block * block; j < (i / block + 1) * block; ++j) {
        largest = std::max(largest, std::fabs(values[j]));
      }
      // 2^-25: the least half-precision numbers
      ASSERT_LE(std::fabs(back[i] - values[i]), ErrorBound(type) * largest + 0x1p-25) << seed;
    }
  }
}

// Root mean square errors of normal values in units of their deviation; the bounds are a few
// percent above the measured values.
TEST_P(EveryFormatTest, MeanErrorOfNormalValues) {
  const std::map<TensorType, double> largest = {
      {TensorType::kF32, 0},       {TensorType::kF16, 0.0003}, {TensorType::kBF16, 0.002},
      {TensorType::kQ8_0, 0.0055}, {TensorType::kQ4_0, 0.092}, {TensorType::kQ4_1, 0.083},
      {TensorType::kQ5_0, 0.046},  {TensorType::kQ5_1, 0.041}, {TensorType::kQ4_K, 0.072},
      {TensorType::kQ5_K, 0.036},  {TensorType::kQ6_K, 0.0185}};
  const std::vector<float> values = RandomValues(1 << 16, 1.0, 7);
  const double error = std::sqrt(SquaredError(RoundTrip(GetParam(), values), values) / (1 << 16));
  EXPECT_LE(error, largest.at(GetParam()));
}

TEST_P(EveryFormatTest, BlocksAreIndependent) {
  const std::vector<float> values = RandomValues(1024, 0.02, 3);
  const uint64_t block = std::max<uint64_t>(BlockValues(GetParam()), 4);
  std::string parts;
  for (size_t i = 0; i < values.size(); i += block) {
    parts += Quantize(GetParam(), std::span(values).subspan(i, block)).value();
  }
  EXPECT_EQ(parts, Quantize(GetParam(), values).value());
}

TEST_P(EveryFormatTest, RefusesWhatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> values(256, 1.0F);
    values[200] = bad;
    const absl::Status status = Quantize(GetParam(), values).status();
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
    EXPECT_THAT(MessageOf(status), HasSubstr("not finite"));
  }
}

TEST_P(EveryFormatTest, RefusesWhatIsTooLarge) {
  if (GetParam() == TensorType::kF32) {
    return;  // the format holds every value
  }
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> values(256, 0.0F);
    values[17] = sign * std::numeric_limits<float>::max();
    values[18] = -sign * std::numeric_limits<float>::max();
    EXPECT_THAT(MessageOf(Quantize(GetParam(), values).status()), HasSubstr("too large"));
  }
}

TEST_P(EveryFormatTest, LargeValuesAreRefusedOrFinite) {
  for (double size = 1e3; size < 1e12; size *= 1.7) {
    const std::vector<float> values = RandomValues(256, size, 11);
    const auto bytes = Quantize(GetParam(), values);
    if (bytes.ok()) {
      for (const float back : Decoded(GetParam(), *bytes, values.size())) {
        ASSERT_TRUE(std::isfinite(back)) << size;
      }
    }
  }
}

TEST_P(EveryFormatTest, RefusesPartsOfBlocks) {
  if (BlockValues(GetParam()) > 1) {
    const std::vector<float> values(BlockValues(GetParam()) - 1, 1.0F);
    EXPECT_THAT(MessageOf(Quantize(GetParam(), values).status()), HasSubstr("blocks of"));
  }
  std::vector<uint8_t> out(BlockBytes(GetParam()) + 1);
  EXPECT_FALSE(QuantizeInto(GetParam(), std::vector<float>(BlockValues(GetParam())), out).ok());
}

// --- Values that a format holds exactly come back unchanged.

// Values on the grid of a block of 32: scale * (q - zero) with both ends of the quants in use.
std::vector<float> GridBlock(Random& random, int least, int largest, float scale, float offset) {
  std::vector<float> values(32);
  for (float& value : values) {
    const int q =
        least + static_cast<int>(random.Below(static_cast<uint64_t>(largest - least + 1)));
    value = scale * static_cast<float>(q) + offset;
  }
  values[random.Below(16)] = scale * static_cast<float>(least) + offset;
  values[16 + random.Below(16)] = scale * static_cast<float>(largest) + offset;
  return values;
}

RC_GTEST_PROP(QuantizeProperty, ExactValuesOfSimpleFormatsAreStable, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const float scale = std::ldexp(1.0F, static_cast<int>(random.Below(12)) - 8) *
                      (random.Below(2) == 0 ? 1.0F : -1.0F);
  const auto stable = [&](TensorType type, const std::vector<float>& values) {
    RC_ASSERT(RoundTrip(type, values) == values);
  };
  stable(TensorType::kQ8_0, GridBlock(random, -127, 127, scale, 0));
  stable(TensorType::kQ4_0, GridBlock(random, -8, 7, scale, 0));
  stable(TensorType::kQ5_0, GridBlock(random, -16, 15, scale, 0));
  const float size = std::fabs(scale);
  stable(TensorType::kQ4_1, GridBlock(random, 0, 15, size, -size * 3));
  stable(TensorType::kQ5_1, GridBlock(random, 0, 31, size, size * 5));
}

void AppendHalf(float value, std::string* out) {
  const uint16_t half = FloatToHalf(value);
  out->append(reinterpret_cast<const char*>(&half), sizeof(half));
}

// A Q4_K or Q5_K superblock on its own grid: random sub-scales with 63 among them, every sub-block
// with both ends of its quants in use.
std::vector<float> AffineGrid(Random& random, int top) {
  const float d = HalfToFloat(FloatToHalf(static_cast<float>(0.001 + random.Uniform() * 0.01)));
  const float e = HalfToFloat(FloatToHalf(static_cast<float>(0.001 + random.Uniform() * 0.01)));
  const uint64_t full = random.Below(8);
  std::vector<float> values;
  for (uint64_t j = 0; j < 8; ++j) {
    const auto scale = static_cast<float>(j == full ? 63 : 8 + random.Below(56));
    const auto offset = static_cast<float>(j == full ? 63 : random.Below(64));
    const auto sub = GridBlock(random, 0, top, d * scale, -e * offset);
    values.insert(values.end(), sub.begin(), sub.end());
  }
  return values;
}

// The scale and offset of a sub-block are found by least squares to within rounding, so the values
// come back to within rounding of half precision's grid: nearly always exactly.
RC_GTEST_PROP(QuantizeProperty, ExactValuesOfSuperblocksAreStable, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  for (const auto& [type, top] : {std::pair{TensorType::kQ4_K, 15}, {TensorType::kQ5_K, 31}}) {
    std::vector<float> values = AffineGrid(random, top);
    RC_PRE(*std::min_element(values.begin(), values.end()) < 0);
    const std::vector<float> once = RoundTrip(type, values);
    double norm = 0;
    for (const float value : values) {
      norm += double{value} * value;
    }
    RC_ASSERT(SquaredError(once, values) <= 1e-10 * norm);
  }
}

TEST_P(EveryFormatTest, ASecondRoundTripChangesLittle) {
  const std::vector<float> values = RandomValues(8192, 0.05, 13);
  const std::vector<float> once = RoundTrip(GetParam(), values);
  const std::vector<float> twice = RoundTrip(GetParam(), once);
  if (BlockValues(GetParam()) < 256) {
    EXPECT_EQ(twice, once);
  } else {
    EXPECT_LE(SquaredError(twice, once), 0.1 * SquaredError(once, values));
  }
}

// --- Bytes.

TEST(QuantizeBytesTest, HandComputedQ4_1Block) {
  std::vector<float> values(32, 2.0F);  // minimum 2, scale 1
  values[0] = 17.0F;
  values[16] = 5.4F;
  std::string expected;
  AppendHalf(1.0F, &expected);
  AppendHalf(2.0F, &expected);
  expected += std::string("\x3F", 1) + std::string(15, '\0');
  EXPECT_EQ(Quantize(TensorType::kQ4_1, values).value(), expected);
}

TEST(QuantizeBytesTest, HandComputedQ5_0Block) {
  std::vector<float> values(32, 0.0F);  // quant 16: only the fifth bit
  values[0] = -16.0F;                   // quant 0: scale 1
  values[16] = 15.0F;                   // quant 31
  values[31] = -1.0F;                   // quant 15
  std::string expected;
  AppendHalf(1.0F, &expected);
  expected += std::string("\xFE\xFF\xFF\x7F", 4);
  expected += std::string("\xF0", 1) + std::string(14, '\0') + std::string("\xF0", 1);
  EXPECT_EQ(Quantize(TensorType::kQ5_0, values).value(), expected);
}

TEST(QuantizeBytesTest, HandComputedQ5_1Block) {
  std::vector<float> values(32, -1.0F);
  values[0] = 30.0F;   // quant 31, scale 1
  values[17] = 15.0F;  // quant 16
  std::string expected;
  AppendHalf(1.0F, &expected);
  AppendHalf(-1.0F, &expected);
  expected += std::string("\x01\x00\x02\x00\x0F", 5) + std::string(15, '\0');
  EXPECT_EQ(Quantize(TensorType::kQ5_1, values).value(), expected);
}

TEST(QuantizeBytesTest, BF16RoundsToNearestEven) {
  const std::vector<float> values = {1.0F, 1.0F + 0x1p-8F, 1.0F + 3 * 0x1p-8F, -2.0F};
  EXPECT_EQ(Quantize(TensorType::kBF16, values).value(),
            std::string("\x80\x3F\x80\x3F\x82\x3F\x00\xC0", 8));
}

// Compares with llama.cpp's own files of the same weights, from ../shared: bytes are equal where
// the format leaves no choice, and errors are not larger where it does.
class PeerFileTest : public testing::TestWithParam<TensorType> {};
INSTANTIATE_TEST_SUITE_P(Formats, PeerFileTest,
                         testing::ValuesIn(std::vector(kAllTypes.begin() + 1, kAllTypes.end())),
                         [](const auto& parameter) {
                           return std::string(TensorTypeName(parameter.param));
                         });

TEST_P(PeerFileTest, EveryTensor) {
  const TensorType type = GetParam();
  const auto folder = std::filesystem::path(test::SourceDir()) / "../shared/fixtures/models";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is absent";
  }
  const auto source = GgufReader::Open((folder / "dream-F32.gguf").string()).value();
  const auto peer =
      GgufReader::Open((folder / fmt::format("dream-{}.gguf", TensorTypeName(type))).string())
          .value();
  int compared = 0;
  for (const TensorInfo& theirs : peer->tensors()) {
    if (theirs.type != type) {
      continue;
    }
    std::vector<float> values(theirs.values());
    ASSERT_TRUE(
        Dequantize(TensorType::kF32, source->Data(*source->Find(theirs.name)), values).ok());
    const std::string ours = Quantize(type, values).value();
    const std::string_view bytes = AsText(peer->Data(theirs));
    if (BlockValues(type) < 256) {
      EXPECT_TRUE(ours == bytes) << theirs.name;
    } else {
      EXPECT_LT(SquaredError(Decoded(type, ours, values.size()), values),
                SquaredError(Decoded(type, bytes, values.size()), values))
          << theirs.name;
    }
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace ruvd::inference
