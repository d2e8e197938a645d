// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/dequantize_blocks.h"
#include "inference/gguf/half.h"

namespace ruvd {
namespace {

constexpr uint64_t kBlock = 32;        // values of the simple block formats
constexpr uint64_t kSuperBlock = 256;  // values of the K formats
constexpr uint16_t kHalfInfinity = 0x7C00;

void AppendHalf(uint16_t half, std::string* out) {
  out->append(reinterpret_cast<const char*>(&half), sizeof(half));
}

// 1 / scale; 0 for a zero scale and for one so small that its inverse is infinite. Such a scale is
// zero in half precision, so the block is zero anyway.
float Inverse(float scale) {
  const float inverse = 1.0F / scale;
  return std::isfinite(inverse) ? inverse : 0.0F;
}

// Scale amax / 127, values rounded half away from zero (ggml's quantize_row_q8_0_ref).
uint16_t AppendQ8Block(std::span<const float> values, std::string* out) {
  float largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::fabs(value));
  }
  const float scale = largest / 127.0F;
  const float inverse = Inverse(scale);
  const uint16_t half = FloatToHalf(scale);
  AppendHalf(half, out);
  for (const float value : values) {
    out->push_back(static_cast<char>(static_cast<int8_t>(std::round(value * inverse))));
  }
  return half;
}

// The value of largest magnitude maps to -8 whatever its sign, so the scale may be negative
// (ggml's quantize_row_q4_0_ref). Byte j holds value j in its low and value j + 16 in its high
// half.
uint16_t AppendQ4Block(std::span<const float> values, std::string* out) {
  float largest = 0;
  float extreme = 0;
  for (const float value : values) {
    if (std::fabs(value) > largest) {
      largest = std::fabs(value);
      extreme = value;
    }
  }
  const float scale = extreme / -8.0F;
  const float inverse = Inverse(scale);
  const uint16_t half = FloatToHalf(scale);
  AppendHalf(half, out);
  const auto quant = [inverse](float value) {
    return std::min(15, static_cast<int>(value * inverse + 8.5F));
  };
  for (size_t j = 0; j < kBlock / 2; ++j) {
    out->push_back(static_cast<char>(quant(values[j]) | (quant(values[j + kBlock / 2]) << 4)));
  }
  return half;
}

absl::Status Refused(TensorType type, std::string_view fault) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "cannot convert to {}: {}", TensorTypeName(type), fault);
}

absl::StatusOr<std::string> QuantizeBlocks(TensorType type, std::span<const float> values) {
  const uint64_t block = BlockValues(type);
  std::string out;
  out.reserve(values.size() / block * BlockBytes(type));
  for (size_t i = 0; i < values.size(); i += block) {
    const auto part = values.subspan(i, block);
    uint16_t half = 0;
    if (type == TensorType::kF16) {
      half = FloatToHalf(part[0]);
      AppendHalf(half, &out);
    } else if (type == TensorType::kQ8_0) {
      half = AppendQ8Block(part, &out);
    } else {
      half = AppendQ4Block(part, &out);
    }
    if ((half & 0x7FFFU) == kHalfInfinity) {
      return Refused(type, "a value is too large for half precision; use F32");
    }
  }
  return out;
}

}  // namespace

uint64_t BlockBytes(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return 4;
    case TensorType::kF16:
    case TensorType::kBF16:
      return 2;
    case TensorType::kQ4_0:
      return 18;
    case TensorType::kQ4_1:
      return 20;
    case TensorType::kQ5_0:
      return 22;
    case TensorType::kQ5_1:
      return 24;
    case TensorType::kQ8_0:
      return 34;
    case TensorType::kQ4_K:
      return 144;
    case TensorType::kQ5_K:
      return 176;
    case TensorType::kQ6_K:
      return 210;
  }
  RUVD_CHECK(false && "a TensorType outside the enumeration");
  return 0;
}

uint64_t BlockValues(TensorType type) {
  switch (type) {
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBF16:
      return 1;
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
    case TensorType::kQ6_K:
      return kSuperBlock;
    default:
      return kBlock;
  }
}

absl::Status Dequantize(TensorType type, std::span<const uint8_t> bytes, std::span<float> values) {
  const uint64_t block = BlockValues(type);
  if (values.size() % block != 0 || bytes.size() != values.size() / block * BlockBytes(type)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} bytes are not {} values of {}", bytes.size(), values.size(),
                 TensorTypeName(type));
  }
  if (type == TensorType::kF32) {
    if (!bytes.empty()) {  // memcpy from null is undefined even for no bytes
      std::memcpy(values.data(), bytes.data(), bytes.size());
    }
    return absl::OkStatus();
  }
  const gguf::BlockDecoder decode = gguf::DecoderOf(type);
  const uint64_t size = BlockBytes(type);
  const uint8_t* in = bytes.data();
  for (size_t i = 0; i < values.size(); i += block, in += size) {
    decode(in, values.data() + i);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Quantize(TensorType type, std::span<const float> values) {
  if (type != TensorType::kF32 && type != TensorType::kF16 && type != TensorType::kQ8_0 &&
      type != TensorType::kQ4_0) {
    return Refused(type, "only F32, F16, Q8_0 and Q4_0 can be written");
  }
  if (values.size() % BlockValues(type) != 0) {
    return Refused(type, fmt::format("{} values do not fill blocks of {}; use F16", values.size(),
                                     BlockValues(type)));
  }
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Refused(type, "a value is not finite; repair the weights");
    }
  }
  if (type == TensorType::kF32) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  return QuantizeBlocks(type, values);
}

}  // namespace ruvd
