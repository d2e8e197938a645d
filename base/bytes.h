// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ruvd {

static_assert(std::endian::native == std::endian::little, "byte formats assume little endian");

using Digest = std::array<uint8_t, 32>;

inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the bytes in lower-case hexadecimal.
std::string ToHex(std::span<const uint8_t> bytes);
// Returns the bytes of a hexadecimal text in upper or lower case, or nullopt for an odd length or
// any other character.
std::optional<std::string> FromHex(std::string_view hex);

// Returns the SHA-256 of the concatenated parts (computed by OpenSSL, which uses SHA-NI if the CPU
// has it).
Digest Sha256(std::initializer_list<std::span<const uint8_t>> parts);
Digest Sha256(std::span<const uint8_t> bytes);
Digest Sha256(std::string_view text);

// Reads little-endian values from bytes it does not own. A read beyond the end returns nullopt and
// leaves the reader failed: every later read fails too, so a caller may check once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> Read() {
    static_assert(std::is_arithmetic_v<T>);
    auto raw = ReadBytes(sizeof(T));
    if (!raw) {
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, raw->data(), sizeof(T));
    return value;
  }
  // Returns a view of the next n bytes, which is valid as long as the underlying bytes.
  std::optional<std::span<const uint8_t>> ReadBytes(uint64_t n) {
    if (failed_ || n > bytes_.size() - offset_) {
      failed_ = true;
      return std::nullopt;
    }
    auto view = bytes_.subspan(offset_, n);
    offset_ += n;
    return view;
  }
  template <size_t N>
  std::optional<std::array<uint8_t, N>> ReadArray() {
    auto raw = ReadBytes(N);
    if (!raw) {
      return std::nullopt;
    }
    std::array<uint8_t, N> out;
    std::memcpy(out.data(), raw->data(), N);
    return out;
  }
  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }
  bool failed() const { return failed_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
};

// Appends little-endian values to a string.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& Write(T value) {
    static_assert(std::is_arithmetic_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  ByteWriter& WriteBytes(std::span<const uint8_t> bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  ByteWriter& WriteText(std::string_view text) {
    out_.append(text);
    return *this;
  }
  const std::string& str() const { return out_; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace ruvd
