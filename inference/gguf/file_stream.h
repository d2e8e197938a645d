// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "inference/gguf/writer.h"

namespace ruvd::inference {

// Writes a GGUF file tensor by tensor, so that memory holds only the current piece. The file
// appears under its name when Finish succeeds; before that, and after any error, `path` is
// unchanged. Not thread-safe.
class GgufFileStream {
 public:
  // Writes the header of `writer`, whose tensors must be declared. Errors: INVALID_ARGUMENT if the
  // writer refuses a tensor or key, FILE_UNWRITABLE, DISK_FULL.
  static absl::StatusOr<std::unique_ptr<GgufFileStream>> Create(const std::string& path,
                                                                const GgufWriter& writer);

  // Appends the next bytes of the tensors, in their order. A piece may have any size but must stay
  // within one tensor. Padding is added automatically. Appending more bytes than were declared is a
  // bug in the caller.
  absl::Status Append(std::span<const uint8_t> bytes);
  // Closes the file and gives it its name. All declared bytes must have been appended.
  absl::Status Finish();
  // Returns the number of bytes written so far.
  uint64_t size() const { return file_->size(); }

 private:
  GgufFileStream(std::unique_ptr<AtomicFile> file, std::vector<uint64_t> sizes);

  std::unique_ptr<AtomicFile> file_;
  std::vector<uint64_t> sizes_;  // bytes of each tensor
  size_t tensor_ = 0;            // index of the tensor being written
  uint64_t written_ = 0;         // bytes of that tensor written so far
};

}  // namespace ruvd::inference
