// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/format.h"

namespace ruvd::inference::gguf {
namespace {

constexpr uint64_t kShownElements = 4;
constexpr size_t kDisplayBytes = 60;

// Returns the next number of a value that has been checked.
template <typename T>
std::string Number(ByteReader* reader) {
  const auto value = reader->Read<T>();
  RUVD_CHECK(value.has_value());
  return fmt::format("{}", *value);
}

std::string Text(ByteReader* reader) {
  const auto length = reader->Read<uint64_t>();
  RUVD_CHECK(length.has_value());
  const auto bytes = reader->ReadBytes(*length);
  RUVD_CHECK(bytes.has_value());
  const std::string_view text = AsText(*bytes);
  return fmt::format("\"{}{}\"", text.substr(0, kDisplayBytes),
                     text.size() > kDisplayBytes ? "..." : "");
}

std::string Element(uint32_t type, ByteReader* reader) {
  switch (type) {
    case kUint8:
      return Number<uint8_t>(reader);
    case kInt8:
      return Number<int8_t>(reader);
    case kUint16:
      return Number<uint16_t>(reader);
    case kInt16:
      return Number<int16_t>(reader);
    case kUint32:
      return Number<uint32_t>(reader);
    case kInt32:
      return Number<int32_t>(reader);
    case kUint64:
      return Number<uint64_t>(reader);
    case kInt64:
      return Number<int64_t>(reader);
    case kFloat32:
      return Number<float>(reader);
    case kFloat64:
      return Number<double>(reader);
    case kBool:
      return Number<uint8_t>(reader) == "0" ? "false" : "true";
    default:
      return Text(reader);
  }
}

}  // namespace

std::string ValueText(const Value& value) {
  ByteReader reader(value.bytes);
  if (!value.is_array) {
    return Element(value.type, &reader);
  }
  std::string out = "[";
  for (uint64_t i = 0; i < std::min(value.count, kShownElements); ++i) {
    out += (i > 0 ? ", " : "") + Element(value.type, &reader);
  }
  return value.count > kShownElements ? fmt::format("{}, ...] of {}", out, value.count) : out + "]";
}

}  // namespace ruvd::inference::gguf
