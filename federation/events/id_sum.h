// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace ruvd::federation {

using Fingerprint = std::array<uint8_t, 16>;

// The sum of ids mod 2^256, and their number; anti-entropy compares sets by it. Ids are hashes of
// signed messages, so an attacker cannot choose ids that cancel out. This is a plain value.
struct IdSum {
  std::array<uint64_t, 4> words{};  // little endian
  uint64_t count = 0;

  void Add(const Digest& id);
  void Remove(const Digest& id);
  void Add(const IdSum& other);
  void Remove(const IdSum& other);
  // Returns the first 16 bytes of SHA-256(sum, little endian || u64 count).
  Fingerprint fingerprint() const;
  bool operator==(const IdSum&) const = default;
};

}  // namespace ruvd::federation
