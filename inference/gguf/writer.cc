// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/writer.h"

#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/format.h"
#include "inference/gguf/limits.h"
#include "inference/gguf/quantize.h"

namespace ruvd::inference {
namespace {

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

void WriteString(ByteWriter* out, std::string_view text) {
  out->Write<uint64_t>(text.size()).WriteText(text);
}

template <typename T>
std::string RawBytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

absl::Status CheckTensor(const TensorInfo& info) {
  if (info.name.empty() || info.name.size() > limits::kMaxTensorNameBytes) {
    return Refused("tensor name \"{}\" must have 1 to {} bytes", info.name,
                   limits::kMaxTensorNameBytes);
  }
  if (info.dimensions == 0 || info.dimensions > limits::kMaxTensorDimensions) {
    return Refused("tensor {} has {} dimensions; GGUF allows 1 to {}", info.name, info.dimensions,
                   limits::kMaxTensorDimensions);
  }
  const uint64_t block = BlockValues(info.type);
  uint64_t values = 1;
  for (const uint64_t extent : info.shape) {
    if (extent == 0 || __builtin_mul_overflow(values, extent, &values)) {
      return Refused("the shape of tensor {} is empty or overflows", info.name);
    }
  }
  if (info.shape[0] % block != 0) {
    return Refused("rows of tensor {} have {} values; {} needs a multiple of {}", info.name,
                   info.shape[0], TensorTypeName(info.type), block);
  }
  if (values / block != info.bytes / BlockBytes(info.type) ||
      info.bytes % BlockBytes(info.type) != 0) {
    return Refused("tensor {} has {} values in {} bytes, which does not fit {}", info.name, values,
                   info.bytes, TensorTypeName(info.type));
  }
  return absl::OkStatus();
}

TensorInfo Described(std::string_view name, TensorType type, std::span<const uint64_t> shape) {
  TensorInfo info{.name = std::string(name), .type = type};
  info.dimensions = static_cast<uint32_t>(shape.size());
  for (size_t i = 0; i < shape.size() && i < info.shape.size(); ++i) {
    info.shape.at(i) = shape[i];
  }
  return info;
}

}  // namespace

void GgufWriter::BeginEntry(std::string_view key, uint32_t type) {
  keys_.emplace_back(key);
  ByteWriter out;
  WriteString(&out, key);
  out.Write<uint32_t>(type);
  entries_ += out.str();
}

void GgufWriter::SetUnsigned32(std::string_view key, uint32_t value) {
  BeginEntry(key, gguf::kUint32);
  entries_ += ByteWriter().Write(value).str();
}

void GgufWriter::SetFloat32(std::string_view key, float value) {
  BeginEntry(key, gguf::kFloat32);
  entries_ += ByteWriter().Write(value).str();
}

void GgufWriter::SetBool(std::string_view key, bool value) {
  BeginEntry(key, gguf::kBool);
  entries_ += value ? '\1' : '\0';
}

void GgufWriter::SetString(std::string_view key, std::string_view value) {
  BeginEntry(key, gguf::kString);
  ByteWriter out;
  WriteString(&out, value);
  entries_ += out.str();
}

void GgufWriter::SetStringArray(std::string_view key, std::span<const std::string> values) {
  BeginEntry(key, gguf::kArray);
  ByteWriter out;
  out.Write<uint32_t>(gguf::kString).Write<uint64_t>(values.size());
  for (const std::string& value : values) {
    WriteString(&out, value);
  }
  entries_ += out.str();
}

void GgufWriter::SetInt32Array(std::string_view key, std::span<const int32_t> values) {
  BeginEntry(key, gguf::kArray);
  entries_ += ByteWriter().Write<uint32_t>(gguf::kInt32).Write<uint64_t>(values.size()).str();
  entries_ += RawBytes(values);
}

void GgufWriter::SetFloatArray(std::string_view key, std::span<const float> values) {
  BeginEntry(key, gguf::kArray);
  entries_ += ByteWriter().Write<uint32_t>(gguf::kFloat32).Write<uint64_t>(values.size()).str();
  entries_ += RawBytes(values);
}

void GgufWriter::SetRaw(std::string_view key, const gguf::Value& value) {
  BeginEntry(key, value.is_array ? gguf::kArray : value.type);
  if (value.is_array) {
    entries_ += ByteWriter().Write<uint32_t>(value.type).Write<uint64_t>(value.count).str();
  }
  entries_ += AsText(value.bytes);
}

void GgufWriter::AddTensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                           std::string bytes) {
  Tensor tensor{.info = Described(name, type, shape), .bytes = std::move(bytes)};
  tensor.info.bytes = tensor.bytes.size();
  tensors_.push_back(std::move(tensor));
}

void GgufWriter::DeclareTensor(std::string_view name, TensorType type,
                               std::span<const uint64_t> shape) {
  Tensor tensor{.info = Described(name, type, shape), .bytes = {}};
  // If this overflows, Header refuses the tensor because of its shape.
  tensor.info.bytes = tensor.info.values() / BlockValues(type) * BlockBytes(type);
  tensors_.push_back(std::move(tensor));
}

std::vector<uint64_t> GgufWriter::TensorBytes() const {
  std::vector<uint64_t> sizes;
  sizes.reserve(tensors_.size());
  for (const Tensor& tensor : tensors_) {
    sizes.push_back(tensor.info.bytes);
  }
  return sizes;
}

absl::StatusOr<std::string> GgufWriter::Header() const {
  std::set<std::string_view> seen;
  for (const std::string& key : keys_) {
    if (key.empty() || key.size() > limits::kMaxGgufKeyBytes || !seen.insert(key).second) {
      return Refused("metadata key \"{}\" is empty, too long or set twice", key);
    }
  }
  seen.clear();
  ByteWriter out;
  out.WriteBytes(gguf::kMagic).Write<uint32_t>(gguf::kVersionWritten);
  out.Write<uint64_t>(tensors_.size()).Write<uint64_t>(keys_.size()).WriteText(entries_);
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    const TensorInfo& info = tensor.info;
    RETURN_IF_ERROR(CheckTensor(info));
    if (!seen.insert(info.name).second) {
      return Refused("tensor {} is added twice", info.name);
    }
    WriteString(&out, info.name);
    out.Write<uint32_t>(info.dimensions);
    for (uint32_t i = 0; i < info.dimensions; ++i) {
      out.Write<uint64_t>(info.shape.at(i));
    }
    out.Write<uint32_t>(static_cast<uint32_t>(info.type)).Write<uint64_t>(offset);
    offset = gguf::AlignUp(offset + info.bytes, limits::kDefaultGgufAlignment);
  }
  std::string header = out.Take();
  header.resize(gguf::AlignUp(header.size(), limits::kDefaultGgufAlignment), '\0');
  return header;
}

absl::StatusOr<std::string> GgufWriter::Serialize() const {
  ASSIGN_OR_RETURN(std::string file, Header());
  for (const Tensor& tensor : tensors_) {
    RUVD_CHECK(tensor.bytes.size() == tensor.info.bytes);
    file += tensor.bytes;
    file.resize(gguf::AlignUp(file.size(), limits::kDefaultGgufAlignment), '\0');
  }
  return file;
}

absl::Status GgufWriter::WriteTo(const std::string& path) const {
  ASSIGN_OR_RETURN(const std::string file, Serialize());
  return WriteFileAtomically(path, file);
}

}  // namespace ruvd::inference
