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

// Writes a GGUF file tensor by tensor, so that no more than the piece at hand is in memory. The
// file appears under its name when Finish succeeds; before, and after any error, there is nothing
// new there. Not thread-safe.
class GgufFileStream {
 public:
  // Writes the header of `writer`, whose tensors were declared. Errors: what the writer refuses
  // (INVALID_ARGUMENT), FILE_UNWRITABLE, DISK_FULL.
  static absl::StatusOr<std::unique_ptr<GgufFileStream>> Create(const std::string& path,
                                                                const GgufWriter& writer);

  // The next bytes of the tensors, in their order, in pieces of any size that stay within one
  // tensor. Padding is added. More bytes than were declared are a bug.
  absl::Status Append(std::span<const uint8_t> bytes);
  // All bytes must be there.
  absl::Status Finish();
  // Bytes of the file so far.
  uint64_t size() const { return file_->size(); }

 private:
  GgufFileStream(std::unique_ptr<AtomicFile> file, std::vector<uint64_t> sizes);

  std::unique_ptr<AtomicFile> file_;
  std::vector<uint64_t> sizes_;  // of the tensors
  size_t tensor_ = 0;            // the one being written
  uint64_t written_ = 0;         // of its bytes
};

}  // namespace ruvd::inference
