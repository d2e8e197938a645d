// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Numbers and ids in `bytes` fields of stored messages.
namespace ruvd::storage {

// Returns the numbers side by side, little endian.
template <std::floating_point Number>
std::string NumberBytes(std::span<const Number> numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

// Returns the numbers, or nullopt if one is not finite or the last one is cut off.
template <std::floating_point Number>
std::optional<std::vector<Number>> NumbersOf(std::string_view bytes) {
  if (bytes.size() % sizeof(Number) != 0) {
    return std::nullopt;
  }
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!bytes.empty()) {
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  const bool finite =
      std::ranges::all_of(numbers, [](Number number) { return std::isfinite(number); });
  return finite ? std::optional(std::move(numbers)) : std::nullopt;
}

// Copies an id or a hash into `array`; returns false if it has another length.
template <size_t N>
bool CopyTo(std::string_view bytes, std::array<uint8_t, N>* array) {
  if (bytes.size() != N) {
    return false;
  }
  std::memcpy(array->data(), bytes.data(), N);
  return true;
}

}  // namespace ruvd::storage
