// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

// Constants of the GGUF file format (ggml's gguf.h). A file is a header, then key-value entries,
// then tensor descriptions, then the aligned data section. All numbers are little endian. A string
// is a 64-bit length and its bytes; an array is an element type, a 64-bit count and the elements.
namespace ruvd::inference::gguf {

inline constexpr std::array<uint8_t, 4> kMagic = {'G', 'G', 'U', 'F'};
inline constexpr uint32_t kVersionWritten = 3;
// Version 2 differs from version 3 only in not defining big-endian files. Version 1 has 32-bit
// sizes.
inline constexpr uint32_t kOldestVersion = 2;

// The types of metadata values.
enum ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Returns the bytes of a value of a fixed size; 0 for strings, arrays and unknown types.
constexpr uint64_t FixedSize(uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
      return 2;
    case kUint32:
    case kInt32:
    case kFloat32:
      return 4;
    case kUint64:
    case kInt64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

// Returns `offset` rounded up to a multiple of `alignment`, which must be a power of two.
constexpr uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace ruvd::inference::gguf
