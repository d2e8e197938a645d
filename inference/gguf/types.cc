// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/types.h"

namespace ruvd::inference {

std::string_view TensorTypeName(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return "F32";
    case TensorType::kF16:
      return "F16";
    case TensorType::kQ4_0:
      return "Q4_0";
    case TensorType::kQ4_1:
      return "Q4_1";
    case TensorType::kQ5_0:
      return "Q5_0";
    case TensorType::kQ5_1:
      return "Q5_1";
    case TensorType::kQ8_0:
      return "Q8_0";
    case TensorType::kQ4_K:
      return "Q4_K";
    case TensorType::kQ5_K:
      return "Q5_K";
    case TensorType::kQ6_K:
      return "Q6_K";
    case TensorType::kBF16:
      return "BF16";
  }
  return "unknown";
}

std::optional<TensorType> TensorTypeFromNumber(uint32_t number) {
  const auto type = static_cast<TensorType>(number);
  if (TensorTypeName(type) == "unknown") {
    return std::nullopt;
  }
  return type;
}

}  // namespace ruvd::inference
