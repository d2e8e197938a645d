// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/gguf/types.h"
#include "inference/gguf/value.h"

namespace ruvd::inference {

// Reads a GGUF file (versions 2 and 3, little endian): metadata, tensor directory, tensor bytes.
// Opening checks the whole header first: every count, length and offset must fit the bytes that
// exist, names must be unique, and tensors must lie inside the file, aligned and disjoint. A file
// that fails a check is refused with MODEL_CORRUPT (or MODEL_UNSUPPORTED for an unknown version or
// format) and a message naming the fault. A reader is immutable and thread-safe after opening.
class GgufReader {
 public:
  // Memory-maps a file. Further errors: FILE_NOT_FOUND, FILE_UNREADABLE.
  static absl::StatusOr<std::unique_ptr<GgufReader>> Open(const std::string& path);
  // Reads from bytes that the caller owns. They must outlive the reader.
  static absl::StatusOr<std::unique_ptr<GgufReader>> Parse(std::span<const uint8_t> bytes);

  ~GgufReader();
  GgufReader(const GgufReader&) = delete;
  GgufReader& operator=(const GgufReader&) = delete;

  // Returns the tensors in file order.
  const std::vector<TensorInfo>& tensors() const;
  // Returns null if there is no tensor of this name.
  const TensorInfo* Find(std::string_view name) const;
  // Returns the tensor's bytes inside the file. `tensor` must come from this reader.
  std::span<const uint8_t> Data(const TensorInfo& tensor) const;
  // Gives memory pages back to the system: those that lie entirely within `bytes`, which must be a
  // part of the file. The next access reads them from the file again. Does nothing if the caller
  // owns the bytes.
  void ReleasePages(std::span<const uint8_t> bytes) const;
  // Does what ReleasePages does for the whole file, metadata included.
  void ReleaseAllPages() const;

  // Returns the names of the metadata keys, in file order.
  const std::vector<std::string>& Keys() const;
  bool Has(std::string_view key) const;
  // Returns the value as it is in the file, or null if there is no such key. The value lives as
  // long as the reader.
  const gguf::Value* RawValue(std::string_view key) const;
  // The Get functions return the value of a key. If the key is missing or its value has another
  // type, they return MODEL_CORRUPT with the key in the message. GetUnsigned accepts any integer
  // type whose value is not negative.
  absl::StatusOr<uint64_t> GetUnsigned(std::string_view key) const;
  // Accepts either floating-point type.
  absl::StatusOr<double> GetFloat(std::string_view key) const;
  absl::StatusOr<bool> GetBool(std::string_view key) const;
  absl::StatusOr<std::string> GetString(std::string_view key) const;
  // Reads an array of strings, which live as long as the reader.
  absl::StatusOr<std::vector<std::string_view>> GetStringViews(std::string_view key) const;
  // Returns the number of values in an array, so that a caller can check a limit before copying
  // them.
  absl::StatusOr<uint64_t> GetArrayLength(std::string_view key) const;
  // Accepts an array of any integer type whose values fit into int64_t.
  absl::StatusOr<std::vector<int64_t>> GetIntArray(std::string_view key) const;
  absl::StatusOr<std::vector<float>> GetFloatArray(std::string_view key) const;

 private:
  struct Contents;
  explicit GgufReader(std::unique_ptr<const Contents> contents);
  std::unique_ptr<const Contents> contents_;
};

}  // namespace ruvd::inference
