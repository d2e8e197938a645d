// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ruvd {

// Base64 with '+', '/' and padding (RFC 4648, section 4), without line feeds.
std::string ToBase64(std::span<const uint8_t> bytes);

// The bytes of such a text; nullopt for another character, a wrong length or padding, or bits
// behind the last byte that are not zero: two texts never mean the same bytes.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace ruvd
