// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ruvd {

// Returns the Base64 text with '+', '/' and padding (RFC 4648, section 4), without line feeds.
std::string ToBase64(std::span<const uint8_t> bytes);

// Returns the bytes that a Base64 text stands for. Returns nullopt for a character outside the
// alphabet, a wrong length, wrong padding, or unused bits after the last byte that are not zero: so
// two different texts never mean the same bytes.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace ruvd
