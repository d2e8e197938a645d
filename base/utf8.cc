// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/utf8.h"

namespace ruvd {
namespace {

// What a lead byte says about its character: the number of bytes, and the range of the second byte.
struct Lead {
  uint8_t length;  // 0: not a lead byte
  uint8_t second_low = 0x80;
  uint8_t second_high = 0xBF;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) {
    return {1};
  }
  if (byte >= 0xC2 && byte <= 0xDF) {
    return {2};
  }
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0};
}

}  // namespace

Utf8Char FirstUtf8Char(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const Lead lead = LeadOf(first);
  if (lead.length == 0) {
    return {};
  }
  if (lead.length == 1) {
    return {Utf8Char::State::kValid, 1, first};
  }
  uint32_t code_point = first & (0x7FU >> lead.length);
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) {
      return {Utf8Char::State::kTruncated, i};
    }
    const auto byte = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) {
      return {Utf8Char::State::kInvalid, i};
    }
    code_point = (code_point << 6) | (byte & 0x3FU);
  }
  return {Utf8Char::State::kValid, lead.length, code_point};
}

std::string Utf8Of(uint32_t code_point) {
  if (code_point < 0x80) {
    return {static_cast<char>(code_point)};
  }
  const int continued = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  std::string out(static_cast<size_t>(continued) + 1, '\0');
  for (int i = continued; i > 0; --i) {
    out[static_cast<size_t>(i)] = static_cast<char>(0x80 | (code_point & 0x3F));
    code_point >>= 6;
  }
  // The first byte begins with as many one bits as the character has bytes.
  out[0] = static_cast<char>(((0xFFU << (7 - continued)) & 0xFF) | code_point);
  return out;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = FirstUtf8Char(text);
    if (next.state != Utf8Char::State::kValid) {
      return false;
    }
    text.remove_prefix(next.length);
  }
  return true;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char next = FirstUtf8Char(text);
    out += next.state == Utf8Char::State::kValid ? text.substr(0, next.length) : kReplacementUtf8;
    text.remove_prefix(next.length);
  }
  return out;
}

std::string_view CutUtf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  const auto continues = [&text](size_t at) {
    return (static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80U;
  };
  while (limit > 0 && continues(limit)) {
    --limit;
  }
  return text.substr(0, limit);
}

}  // namespace ruvd
