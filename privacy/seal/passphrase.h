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

// How a passphrase becomes a seal key: Argon2id 1.3 (RFC 9106) with these parameters, which are no
// secret and are kept beside the store. Without them the passphrase is worth nothing.
struct PassphraseParameters {
  uint64_t passes = limits::kPassphrasePasses;
  uint64_t memory_bytes = limits::kPassphraseMemoryBytes;
  std::array<uint8_t, 16> salt{};

  // The defaults with a fresh salt.
  static PassphraseParameters Generate();
  // 44 bytes: "RUVDKDF1" | u32 algorithm (2, Argon2id 1.3) | u64 passes | u64 memory | salt.
  std::string Encode() const;
  // KEY_INVALID for other bytes and for parameters outside the limits: a file that somebody put
  // there must not take all memory or weaken the key.
  static absl::StatusOr<PassphraseParameters> Decode(std::string_view bytes);
};

// Takes about a second and `memory_bytes` for as long. KEY_INVALID for a passphrase that is shorter
// than kMinPassphraseBytes or longer than kMaxPassphraseBytes or where the memory is not there.
absl::StatusOr<SealKey> SealKeyFromPassphrase(std::string_view passphrase,
                                              const PassphraseParameters& parameters);

}  // namespace ruvd::privacy
