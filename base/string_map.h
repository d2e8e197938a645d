// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/keyed_hash.h"

namespace ruvd {

// Lets a map keyed by std::string be searched with a std::string_view without a copy. Its keys may
// come from files and peers: see keyed_hash.h.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return KeyedHash(text); }
};

// Iteration order is unspecified and differs from process to process: it must never reach a
// message, a file or a float sum.
template <typename T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

}  // namespace ruvd
