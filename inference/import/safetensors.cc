// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/import/json.h"
#include "inference/import/limits.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

constexpr size_t kShownNameBytes = 128;

template <typename... Args>
absl::Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "safetensors file: {}; obtain the file again", fault);
}

std::optional<TensorType> TypeByName(std::string_view name) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
    if (name == TensorTypeName(type)) {
      return type;
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<uint64_t>> UnsignedArray(const json& tensor, const char* key,
                                                    std::string_view name) {
  const json* array = JsonMember(tensor, key);
  if (array == nullptr || !array->is_array() || array->size() > limits::kMaxSafetensorsDimensions) {
    return Corrupt("tensor {} has no usable \"{}\"", name, key);
  }
  std::vector<uint64_t> out;
  for (const json& value : *array) {
    if (!value.is_number_unsigned()) {
      return Corrupt("tensor {} has no usable \"{}\"", name, key);
    }
    out.push_back(value.get<uint64_t>());
  }
  return out;
}

absl::StatusOr<SafetensorsTensor> ReadTensor(const json& entry, std::string_view name,
                                             std::span<const uint8_t> data) {
  SafetensorsTensor tensor;
  const std::string type_name = JsonString(entry, "dtype").value_or("");
  const auto type = TypeByName(type_name);
  if (!type) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                 "safetensors file: tensor {} has the type \"{}\"; convert it to F32, F16 or BF16",
                 name, SanitizeForDisplay(type_name));
  }
  tensor.type = *type;
  ASSIGN_OR_RETURN(tensor.shape, UnsignedArray(entry, "shape", name));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> ends, UnsignedArray(entry, "data_offsets", name));
  if (ends.size() != 2 || ends[0] > ends[1] || ends[1] > data.size()) {
    return Corrupt("the data of tensor {} lies outside the file", name);
  }
  uint64_t bytes = BlockBytes(*type);
  for (const uint64_t extent : tensor.shape) {
    if (extent == 0 || __builtin_mul_overflow(bytes, extent, &bytes)) {
      return Corrupt("the shape of tensor {} is empty or overflows", name);
    }
  }
  if (bytes != ends[1] - ends[0]) {
    return Corrupt("tensor {} needs {} bytes but has {}", name, bytes, ends[1] - ends[0]);
  }
  tensor.bytes = data.subspan(ends[0], bytes);
  return tensor;
}

absl::Status CheckDisjoint(const std::map<std::string, SafetensorsTensor>& tensors) {
  std::vector<std::pair<const uint8_t*, const uint8_t*>> ranges;
  ranges.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ranges.emplace_back(tensor.bytes.data(), tensor.bytes.data() + tensor.bytes.size());
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      return Corrupt("two tensors overlap");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<float> SafetensorsTensor::ToFloat() const {
  std::vector<float> out(bytes.size() / BlockBytes(type));
  RUVD_CHECK(Dequantize(type, bytes, out).ok());
  return out;
}

absl::StatusOr<std::map<std::string, SafetensorsTensor>> ParseSafetensors(
    std::span<const uint8_t> file) {
  ByteReader reader(file);
  const auto length = reader.Read<uint64_t>();
  if (!length || *length > limits::kMaxSafetensorsHeaderBytes) {
    return Corrupt("the header length is missing or exceeds {} bytes",
                   limits::kMaxSafetensorsHeaderBytes);
  }
  const auto header_bytes = reader.ReadBytes(*length);
  if (!header_bytes) {
    return Corrupt("truncated: the file ends inside its header of {} bytes", *length);
  }
  ASSIGN_OR_RETURN(const json header,
                   ParseJsonObject(AsText(*header_bytes), "the safetensors header"));
  const auto data = file.subspan(reader.offset());
  std::map<std::string, SafetensorsTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    ASSIGN_OR_RETURN(tensors[name],
                     ReadTensor(entry, SanitizeForDisplay(name, kShownNameBytes), data));
  }
  RETURN_IF_ERROR(CheckDisjoint(tensors));
  return tensors;
}

}  // namespace ruvd::inference
