// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/quantize.h"

#include <cmath>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/dequantize_blocks.h"
#include "inference/gguf/encode_blocks.h"

namespace ruvd::inference {
namespace {

constexpr uint64_t kBlock = 32;        // values of the simple block formats
constexpr uint64_t kSuperBlock = 256;  // values of the K formats

absl::Status Refused(TensorType type, std::string_view fault) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "cannot convert to {}: {}", TensorTypeName(type), fault);
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
    if (!bytes.empty()) {  // memcpy from null is undefined even for zero bytes
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

absl::Status QuantizeInto(TensorType type, std::span<const float> values, std::span<uint8_t> out) {
  const uint64_t block = BlockValues(type);
  if (values.size() % block != 0 || out.size() != values.size() / block * BlockBytes(type)) {
    return Refused(type, fmt::format("{} values do not fill {} bytes in blocks of {}; use F16",
                                     values.size(), out.size(), block));
  }
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Refused(type, "a value is not finite; repair the weights");
    }
  }
  if (type == TensorType::kF32) {
    if (!values.empty()) {  // memcpy from null is undefined even for zero bytes
      std::memcpy(out.data(), values.data(), out.size());
    }
    return absl::OkStatus();
  }
  const gguf::BlockEncoder encode = gguf::EncoderOf(type);
  uint8_t* at = out.data();
  for (size_t i = 0; i < values.size(); i += block, at += BlockBytes(type)) {
    if (!encode(values.data() + i, at)) {
      return Refused(type, "a value is too large for its 16-bit numbers; use F32");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Quantize(TensorType type, std::span<const float> values) {
  std::string out(values.size() / BlockValues(type) * BlockBytes(type), '\0');
  RETURN_IF_ERROR(QuantizeInto(type, values, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
  return out;
}

}  // namespace ruvd::inference
