// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

namespace ruvd {

// A secret that hash tables of foreign words depend on: without it nobody can write a file whose
// words all fall into one place of a table.
struct HashKey {
  uint64_t low = 0;
  uint64_t high = 0;
};

// The process's own, drawn once from the operating system. Only the speed of tables may depend on
// it: no order of iteration may reach a result.
const HashKey& ProcessHashKey();

// SipHash-1-3 (Aumasson and Bernstein 2012; one round a word, three at the end).
uint64_t KeyedHash(std::string_view text, const HashKey& key);
inline uint64_t KeyedHash(std::string_view text) {
  return KeyedHash(text, ProcessHashKey());
}

}  // namespace ruvd
