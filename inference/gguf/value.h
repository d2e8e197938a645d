// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ruvd::inference::gguf {

// One metadata value, still in file bytes: decoded when asked for, because vocabularies are large
// and most readers want a few keys. The bytes are checked: all elements are there.
struct Value {
  uint32_t type = 0;  // ValueType; for an array the type of its elements
  bool is_array = false;
  uint64_t count = 1;  // elements of an array
  std::span<const uint8_t> bytes;
};

// The value for people: a number, true or false, a quoted string, "[a, b, c, ...] of 8192". Long
// strings and arrays are cut; the text may hold whatever bytes the file has.
std::string ValueText(const Value& value);

}  // namespace ruvd::inference::gguf
