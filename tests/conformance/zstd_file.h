// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <zstd.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {

// Reads the contents of a Zstandard file, at most `max_bytes` of them: the size in the frame is
// checked before anything is allocated.
inline absl::StatusOr<std::string> ReadZstdFile(const std::string& path, uint64_t max_bytes) {
  ASSIGN_OR_RETURN(const std::string packed, ReadFile(path, max_bytes));
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > max_bytes) {
    return Error(absl::StatusCode::kOutOfRange, reasons::kLimitExceeded,
                 "{} is no Zstandard file of a known size up to {} bytes", path, max_bytes);
  }
  std::string out(size, '\0');
  const size_t written = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(written) != 0 || written != size) {
    return Error(absl::StatusCode::kDataLoss, reasons::kFileUnreadable,
                 "{} cannot be decompressed; obtain it again", path);
  }
  return out;
}

}  // namespace ruvd
