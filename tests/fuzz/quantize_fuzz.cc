// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"

// Any floats are refused or become blocks of finite values, in every format; the sanitizers watch
// the conversions to integers. A short input is repeated up to a whole number of blocks.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using ruvd::inference::TensorType;
  constexpr size_t kLargestBlock = 256;
  if (size < sizeof(float)) {
    return 0;
  }
  const size_t given = size / sizeof(float);
  std::vector<float> values((given + kLargestBlock - 1) / kLargestBlock * kLargestBlock);
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(&values[i], data + i % given * sizeof(float), sizeof(float));
  }
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0, TensorType::kQ4_0,
        TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ4_K,
        TensorType::kQ5_K, TensorType::kQ6_K}) {
    const auto bytes = ruvd::inference::Quantize(type, values);
    if (!bytes.ok()) {
      continue;
    }
    std::vector<float> back(values.size());
    RUVD_CHECK(ruvd::inference::Dequantize(type, ruvd::AsBytes(*bytes), back).ok());
    for (const float value : back) {
      RUVD_CHECK(std::isfinite(value));
    }
  }
  return 0;
}
