// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ruvd {

// How many bytes of a text from a file or a peer a message shows
inline constexpr size_t kDisplayBytes = 64;

// Returns a text from a file or a peer in a form that is safe in a message: it has at most `limit`
// bytes, then "..." if the text was longer. A question mark replaces every byte outside printable
// ASCII.
std::string SanitizeForDisplay(std::string_view text, size_t limit = kDisplayBytes);

}  // namespace ruvd
