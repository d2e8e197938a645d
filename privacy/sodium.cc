// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/sodium.h"

#include <sodium.h>

#include "base/status.h"

namespace ruvd::privacy {

void InitSodium() {
  // sodium_init may be called again, but the static variable keeps its lock off the hot path of
  // sealing.
  static const bool ready = sodium_init() >= 0;
  RUVD_CHECK(ready);
}

void SecureRandomBytes(std::span<uint8_t> out) {
  InitSodium();
  randombytes_buf(out.data(), out.size());
}

uint64_t SecureRandomNumber() {
  uint64_t number = 0;
  SecureRandomBytes({reinterpret_cast<uint8_t*>(&number), sizeof(number)});
  return number;
}

void SecureWipe(std::span<uint8_t> secret) {
  sodium_memzero(secret.data(), secret.size());
}

}  // namespace ruvd::privacy
