// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace ruvd::inference {

// An owned buffer, aligned to 64 bytes, or from 2 MiB on to 2 MiB, with a request for huge pages.
// It is movable but not thread-safe. The contents are not initialised.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Returns whether the system would provide this many bytes now. A caller that can refuse work
  // asks this before it allocates.
  static bool Available(size_t bytes);
  // Aborts if the system has no memory left.
  explicit AlignedBuffer(size_t bytes);

  // Makes the buffer at least `bytes` long. If it has to grow, its contents are lost.
  void Reserve(size_t bytes);

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

}  // namespace ruvd::inference
