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
// Opening checks the whole header before anything refers to it: every count, length and offset
// against the bytes that exist, names unique, tensors inside the file, aligned and disjoint. A file
// that fails is refused with MODEL_CORRUPT (or MODEL_UNSUPPORTED for a version or format we do not
// know) and a message naming the fault. Immutable and thread-safe after opening.
class GgufReader {
 public:
  // Memory-maps a file. Also: FILE_NOT_FOUND, FILE_UNREADABLE.
  static absl::StatusOr<std::unique_ptr<GgufReader>> Open(const std::string& path);
  // Reads from bytes the caller owns; they must outlive the reader.
  static absl::StatusOr<std::unique_ptr<GgufReader>> Parse(std::span<const uint8_t> bytes);

  ~GgufReader();
  GgufReader(const GgufReader&) = delete;
  GgufReader& operator=(const GgufReader&) = delete;

  // In file order.
  const std::vector<TensorInfo>& tensors() const;
  // Null where there is no tensor of this name.
  const TensorInfo* Find(std::string_view name) const;
  // The tensor's bytes inside the file; `tensor` must come from this reader.
  std::span<const uint8_t> Data(const TensorInfo& tensor) const;
  // Gives the memory pages that lie whole within `bytes`, a part of the file, back to the system;
  // the next access reads them from the file again. Does nothing on bytes that the caller owns.
  void ReleasePages(std::span<const uint8_t> bytes) const;
  // The same for the whole file, metadata included.
  void ReleaseAllPages() const;

  // Names of the metadata, in file order.
  const std::vector<std::string>& Keys() const;
  bool Has(std::string_view key) const;
  // The value as the file has it; null where there is no such key. Lives as long as the reader.
  const gguf::Value* RawValue(std::string_view key) const;
  // The value of a key. A missing key or a value of another kind is MODEL_CORRUPT, naming the key.
  // Any integer type that is not negative.
  absl::StatusOr<uint64_t> GetUnsigned(std::string_view key) const;
  // Either floating-point type.
  absl::StatusOr<double> GetFloat(std::string_view key) const;
  absl::StatusOr<bool> GetBool(std::string_view key) const;
  absl::StatusOr<std::string> GetString(std::string_view key) const;
  absl::StatusOr<std::vector<std::string>> GetStringArray(std::string_view key) const;
  // The same without copies; the strings live as long as the file is open.
  absl::StatusOr<std::vector<std::string_view>> GetStringViews(std::string_view key) const;
  // How many values an array has, so that a limit can be checked before they are copied.
  absl::StatusOr<uint64_t> GetArrayLength(std::string_view key) const;
  // An array of any integer type whose values fit.
  absl::StatusOr<std::vector<int64_t>> GetIntArray(std::string_view key) const;
  absl::StatusOr<std::vector<float>> GetFloatArray(std::string_view key) const;

 private:
  struct Contents;
  explicit GgufReader(std::unique_ptr<const Contents> contents);
  std::unique_ptr<const Contents> contents_;
};

}  // namespace ruvd::inference
