// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace ruvd::inference {

// Owned bytes, aligned to 64 or, from 2 MiB on, to 2 MiB with the system asked for huge pages.
// Movable; not thread-safe. Contents are not initialised.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Whether the system would give so many bytes now. What a caller can refuse it asks before.
  static bool Available(size_t bytes);
  // Aborts when the system has no memory left.
  explicit AlignedBuffer(size_t bytes);

  // At least `bytes`; what was in a smaller buffer is lost.
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
