// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/file_stream.h"

#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/format.h"
#include "inference/gguf/limits.h"

namespace ruvd::inference {

GgufFileStream::GgufFileStream(std::unique_ptr<AtomicFile> file, std::vector<uint64_t> sizes)
    : file_(std::move(file)), sizes_(std::move(sizes)) {}

absl::StatusOr<std::unique_ptr<GgufFileStream>> GgufFileStream::Create(const std::string& path,
                                                                       const GgufWriter& writer) {
  ASSIGN_OR_RETURN(const std::string header, writer.Header());
  ASSIGN_OR_RETURN(auto file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file->Append(AsBytes(header)));
  return std::unique_ptr<GgufFileStream>(new GgufFileStream(std::move(file), writer.TensorBytes()));
}

absl::Status GgufFileStream::Append(std::span<const uint8_t> bytes) {
  if (bytes.empty()) {
    return absl::OkStatus();
  }
  RUVD_CHECK(tensor_ < sizes_.size() && bytes.size() <= sizes_[tensor_] - written_);
  RETURN_IF_ERROR(file_->Append(bytes));
  written_ += bytes.size();
  if (written_ < sizes_[tensor_]) {
    return absl::OkStatus();
  }
  ++tensor_;
  written_ = 0;
  constexpr std::array<uint8_t, limits::kDefaultGgufAlignment> kZeros{};
  const uint64_t aligned = gguf::AlignUp(file_->size(), limits::kDefaultGgufAlignment);
  return file_->Append(std::span(kZeros).first(aligned - file_->size()));
}

absl::Status GgufFileStream::Finish() {
  RUVD_CHECK(tensor_ == sizes_.size());
  return file_->Commit();
}

}  // namespace ruvd::inference
