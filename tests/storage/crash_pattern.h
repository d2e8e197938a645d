// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/status.h"
#include "storage/db/database.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::storage {

// Writer and checker of the crash tests agree on this: pattern `n` is a function of n and its
// payload's size, so the checker knows every byte that must be there.
inline Pattern CrashPattern(uint32_t n, size_t payload_bytes) {
  Random random(n);
  Pattern pattern{.bank = n % 3, .quality = 0.5F, .tier = SharingTier::kPrivate, .examples = n};
  for (size_t i = 0; i < 4; ++i) {
    pattern.id[i] = static_cast<uint8_t>(n >> (24 - 8 * i));
  }
  for (int i = 0; i < 16; ++i) {
    pattern.embedding.push_back(static_cast<float>(random.Normal()));
  }
  for (size_t i = 0; i < payload_bytes; ++i) {
    pattern.payload.push_back(static_cast<char>(random.Next()));
  }
  return pattern;
}

inline PatternStoreOptions CrashPatternOptions() {
  return {.dimension = 16,
          .model_hash = Sha256("crash test"),
          .m = 8,
          .ef_construction = 32,
          .durability = Durability::kProcessCrash};
}

}  // namespace ruvd::storage
