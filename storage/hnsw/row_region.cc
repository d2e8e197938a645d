// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/row_region.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::hnsw {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kSmallStep = 64 << 10;  // keeps a small index from taking more than it needs

size_t RoundUp(size_t n, size_t step) {
  return (n + step - 1) / step * step;
}

absl::Status NoMemory(size_t bytes) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "no memory for {} bytes of the vector index ({}); give the process more memory or "
               "hold fewer vectors",
               bytes, std::strerror(errno));
}

}  // namespace

RowRegion::~RowRegion() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  }
}

absl::Status RowRegion::Reserve(size_t rows, size_t row_bytes) {
  RUVD_CHECK(mapping_ == nullptr && rows > 0 && row_bytes > 0);
  row_bytes_ = row_bytes;
  reserved_ = RoundUp(rows * row_bytes, kHugePage);
  mapping_bytes_ = reserved_ + kHugePage;  // one page more, for the alignment
  // Inaccessible pages count neither as memory nor against a limit on committed memory.
  void* mapped =
      mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return NoMemory(mapping_bytes_);
  }
  mapping_ = mapped;
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  base_ = static_cast<uint8_t*>(mapped) + (RoundUp(address, kHugePage) - address);
  return absl::OkStatus();
}

absl::Status RowRegion::Grow(size_t rows) {
  const size_t wanted = rows * row_bytes_;
  RUVD_CHECK(wanted <= reserved_);
  const size_t held = committed_bytes();
  if (wanted <= held) {
    return absl::OkStatus();
  }
  const size_t step = wanted < kHugePage ? kSmallStep : kHugePage;
  const size_t end = std::min(RoundUp(wanted, step), reserved_);
  if (mprotect(base_ + held, end - held, PROT_READ | PROT_WRITE) != 0) {
    return NoMemory(end);
  }
  const size_t huge = RoundUp(held, kHugePage);
  if (huge < end && end >= 2 * kHugePage) {
    madvise(base_ + huge, end - huge, MADV_HUGEPAGE);  // if this is refused, small pages are used
  }
  committed_.store(end, std::memory_order_relaxed);
  return absl::OkStatus();
}

void RowRegion::Shrink(size_t rows) {
  const size_t used = rows * row_bytes_;
  const size_t held = committed_bytes();
  if (used >= held) {
    return;
  }
  const size_t end = RoundUp(used, kSmallStep);
  std::memset(base_ + used, 0, std::min(end, held) - used);
  if (end < held && madvise(base_ + end, held - end, MADV_DONTNEED) == 0 &&
      mprotect(base_ + end, held - end, PROT_NONE) == 0) {
    committed_.store(end, std::memory_order_relaxed);
  }
}

}  // namespace ruvd::storage::hnsw
