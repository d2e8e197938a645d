// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ruvd {

// Bytes of a foreign text that a message shows.
inline constexpr size_t kShownBytes = 64;

// Text of a file or a peer for a message: cut after `limit` bytes, with "..." where something is
// missing, and "?" for every byte outside printable ASCII.
std::string Shown(std::string_view text, size_t limit = kShownBytes);

}  // namespace ruvd
