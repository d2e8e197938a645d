// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/kernels/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = 2U << 20;

size_t RoundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

bool AlignedBuffer::Available(size_t bytes) {
  void* const made = mmap(nullptr, RoundUp(std::max(bytes, kLine), kHugePage),
                          PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    return false;
  }
  munmap(made, RoundUp(std::max(bytes, kLine), kHugePage));
  return true;
}

AlignedBuffer::AlignedBuffer(size_t bytes) : size_(RoundUp(bytes, kLine)) {
  if (size_ == 0) {
    return;
  }
  const bool huge = size_ >= kHugePage;
  void* made = nullptr;
  // aligned_alloc is not used, because it requires a size that is a multiple of the alignment.
  RUVD_CHECK(posix_memalign(&made, huge ? kHugePage : kLine, size_) == 0);
  if (huge) {
    // only advice: without it the buffer works, a little slower
    madvise(made, size_, MADV_HUGEPAGE);
  }
  data_.reset(static_cast<uint8_t*>(made));
}

void AlignedBuffer::Reserve(size_t bytes) {
  if (size_ < bytes) {
    *this = AlignedBuffer();
    *this = AlignedBuffer(bytes);
  }
}

}  // namespace ruvd::inference
