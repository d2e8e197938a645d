// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace ruvd::storage {

// Builds row keys. Integers are big-endian and of fixed width, so byte order is number order.
class RowKey {
 public:
  RowKey& U8(uint8_t value) { return Append(value, 1); }
  RowKey& U32(uint32_t value) { return Append(value, 4); }
  RowKey& U64(uint64_t value) { return Append(value, 8); }
  RowKey& Bytes(std::span<const uint8_t> bytes) {
    out_.append(AsText(bytes));
    return *this;
  }
  RowKey& Text(std::string_view text) {
    out_.append(text);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  RowKey& Append(uint64_t value, int width) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
      out_.push_back(static_cast<char>((value >> shift) & 0xFF));
    }
    return *this;
  }
  std::string out_;
};

// Returns the big-endian integer at `offset` of a key, or nullopt when the key is too short.
inline std::optional<uint64_t> ReadKeyInteger(std::string_view key, size_t offset, size_t width) {
  if (offset > key.size() || width > key.size() - offset) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value = (value << 8) | static_cast<uint8_t>(key[offset + i]);
  }
  return value;
}
inline std::optional<uint32_t> ReadKeyU32(std::string_view key, size_t offset) {
  const auto value = ReadKeyInteger(key, offset, 4);
  return value ? std::optional<uint32_t>(static_cast<uint32_t>(*value)) : std::nullopt;
}
inline std::optional<uint64_t> ReadKeyU64(std::string_view key, size_t offset) {
  return ReadKeyInteger(key, offset, 8);
}

// Returns the first key after all keys that begin with `prefix`; empty (no end) for a prefix of
// 0xFF bytes.
std::string EndOfPrefix(std::string_view prefix);

}  // namespace ruvd::storage
