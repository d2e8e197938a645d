// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

namespace ruvd {

// The secret key of the hash tables whose words come from files or peers. An attacker who does not
// know it cannot write a file whose words all collide in one bucket.
struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

// Returns the key of this process, drawn once from the operating system. Only the speed of tables
// may depend on it; an iteration order must never reach a result.
const HashKey& ProcessHashKey();

// Returns the SipHash-1-3 of `text` (Aumasson and Bernstein, "SipHash", 2012; one round for each
// word and three at the end).
uint64_t KeyedHash(std::string_view text, const HashKey& key);
inline uint64_t KeyedHash(std::string_view text) {
  return KeyedHash(text, ProcessHashKey());
}

}  // namespace ruvd
