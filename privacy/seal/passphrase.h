// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/limits.h"
#include "privacy/seal/seal.h"

namespace ruvd::privacy {

// The parameters with which Argon2id 1.3 (RFC 9106) turns a passphrase into a seal key. They are
// not secret and are stored beside the store. Without them the passphrase is useless.
struct PassphraseParameters {
  uint64_t passes = limits::kPassphrasePasses;
  uint64_t memory_bytes = limits::kPassphraseMemoryBytes;
  std::array<uint8_t, 16> salt{};

  // Returns the default parameters with a fresh salt.
  static PassphraseParameters Generate();
  // Returns 44 bytes: "RUVDKDF1" | u32 algorithm (2 is Argon2id 1.3) | u64 passes | u64 memory |
  // salt.
  std::string Encode() const;
  // Fails with KEY_INVALID for other bytes and for parameters outside the limits: a file that an
  // attacker put there must not exhaust the memory or weaken the key.
  static absl::StatusOr<PassphraseParameters> Decode(std::string_view bytes);
};

// Derives the key, which takes about a second and `memory_bytes` of memory. Fails with KEY_INVALID
// for a passphrase shorter than kMinPassphraseBytes or longer than kMaxPassphraseBytes, or if there
// is not enough memory.
absl::StatusOr<SealKey> SealKeyFromPassphrase(std::string_view passphrase,
                                              const PassphraseParameters& parameters);

}  // namespace ruvd::privacy
