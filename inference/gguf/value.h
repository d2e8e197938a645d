// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ruvd::inference::gguf {

// One metadata value, still as bytes of the file. Values are decoded on demand, because
// vocabularies are large and most readers want only a few keys. The bytes have been checked: all
// elements are present.
struct Value {
  uint32_t type = 0;  // a ValueType; for an array, the type of its elements
  bool is_array = false;
  uint64_t count = 1;  // number of elements of an array
  std::span<const uint8_t> bytes;
};

// Returns the value as text for people: a number, true or false, a quoted string, "[a, b, c, ...]
// of 8192". Long strings and arrays are shortened. The text may contain any bytes that the file
// has.
std::string ValueText(const Value& value);

}  // namespace ruvd::inference::gguf
