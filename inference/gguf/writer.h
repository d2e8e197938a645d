// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/gguf/types.h"
#include "inference/gguf/value.h"

namespace ruvd::inference {

// Builds a GGUF version 3 file: either the whole file in memory, or only its header for a
// GgufFileStream that then writes the tensors' bytes. Keys and tensors appear in the order in which
// they were added. Equal calls give equal bytes. Not thread-safe.
class GgufWriter {
 public:
  // Copies a value as a reader found it.
  void SetRaw(std::string_view key, const gguf::Value& value);
  void SetUnsigned32(std::string_view key, uint32_t value);
  void SetFloat32(std::string_view key, float value);
  void SetBool(std::string_view key, bool value);
  void SetString(std::string_view key, std::string_view value);
  void SetStringArray(std::string_view key, std::span<const std::string> values);
  void SetInt32Array(std::string_view key, std::span<const int32_t> values);
  void SetFloatArray(std::string_view key, std::span<const float> values);

  // `shape` is as in TensorInfo: row length first. `bytes` is the data in the format `type`.
  void AddTensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                 std::string bytes);
  // Adds a tensor whose bytes a GgufFileStream will receive later.
  void DeclareTensor(std::string_view name, TensorType type, std::span<const uint64_t> shape);

  // Returns everything before the tensors' bytes, padded to the alignment. Errors are those of
  // Serialize.
  absl::StatusOr<std::string> Header() const;
  // Returns the size in bytes of each tensor, without padding, in order.
  std::vector<uint64_t> TensorBytes() const;
  // Returns the file. Every tensor must have been added with its bytes. INVALID_ARGUMENT for what a
  // reader would refuse: a key or tensor added twice, a shape that does not fit the bytes or the
  // format's blocks, a name that is too long.
  absl::StatusOr<std::string> Serialize() const;
  // Serializes and replaces the file at `path` atomically (see WriteFileAtomically).
  absl::Status WriteTo(const std::string& path) const;

 private:
  struct Tensor {
    TensorInfo info;
    std::string bytes;  // empty for a declared tensor
  };
  // Starts a key-value entry. The caller appends the value.
  void BeginEntry(std::string_view key, uint32_t type);

  std::vector<std::string> keys_;
  std::string entries_;
  std::vector<Tensor> tensors_;
};

}  // namespace ruvd::inference
