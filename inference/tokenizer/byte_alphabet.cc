// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace ruvd::inference {
namespace {

constexpr uint32_t kExtraBytes = 68;  // bytes without a printable Latin-1 character

constexpr bool IsPrintable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The code point of each byte, and the byte of each code point below 256 + 68.
struct Alphabet {
  std::array<uint16_t, 256> code_point{};
  std::array<uint8_t, 256 + kExtraBytes> byte{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  uint16_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto code_point = IsPrintable(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.code_point.at(byte) = code_point;
    alphabet.byte.at(code_point) = static_cast<uint8_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

std::string SpellBytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const uint16_t code_point = kAlphabet.code_point.at(static_cast<uint8_t>(c));
    if (code_point < 0x80) {
      out += static_cast<char>(code_point);
    } else {
      out += static_cast<char>(0xC0 | (code_point >> 6));
      out += static_cast<char>(0x80 | (code_point & 0x3F));
    }
  }
  return out;
}

std::optional<std::string> BytesOfSpelling(std::string_view spelling) {
  std::string out;
  while (!spelling.empty()) {
    const Utf8Char next = FirstUtf8Char(spelling);
    const bool known = next.state == Utf8Char::State::kValid &&
                       next.code_point < kAlphabet.byte.size() &&
                       (next.code_point >= 256 || IsPrintable(next.code_point));
    if (!known) {
      return std::nullopt;
    }
    out += static_cast<char>(kAlphabet.byte.at(next.code_point));
    spelling.remove_prefix(next.length);
  }
  return out;
}

}  // namespace ruvd::inference
