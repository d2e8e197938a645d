// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "inference/gguf/finite.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/types.h"

namespace ruvd::inference {
namespace {

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                 TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1,
                                 TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ4_K,
                                 TensorType::kQ5_K, TensorType::kQ6_K};

// Tests every bit pattern of two neighbouring bytes anywhere in a block: the answer is that of the
// decoded values.
TEST(GgufFiniteTest, AgreesWithTheDecodedValues) {
  Random random(5);
  for (const TensorType type : kTypes) {
    std::string bytes(3 * BlockBytes(type), '\0');
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
      for (char& byte : bytes) {  // small numbers, few infinities
        byte = static_cast<char>(random.Below(0x70));
      }
      const size_t at = random.Below(bytes.size() - 1);
      bytes[at] = static_cast<char>(random.Below(256));
      bytes[at + 1] = random.Bernoulli(0.5) ? '\x7C' : '\xFF';
      std::vector<float> values(3 * BlockValues(type));
      ASSERT_TRUE(Dequantize(type, AsBytes(bytes), values).ok());
      bool finite = true;
      for (const float value : values) {
        finite = finite && std::isfinite(value);
      }
      ASSERT_EQ(AllFinite(type, AsBytes(bytes)), finite) << TensorTypeName(type) << " byte " << at;
      refused += finite ? 0 : 1;
    }
    EXPECT_GT(refused, 0) << TensorTypeName(type);
  }
  EXPECT_TRUE(AllFinite(TensorType::kQ6_K, {}));
}

}  // namespace
}  // namespace ruvd::inference
