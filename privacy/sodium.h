// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

namespace ruvd::privacy {

// Initialises libsodium. Call before any use of <sodium.h>; any number of times, from any thread.
// Aborts if the system's random source does not work: no key or nonce could be trusted.
void InitSodium();

// Fills `out` with bytes fit for keys and nonces. Thread-safe.
void SecureRandomBytes(std::span<uint8_t> out);

// Overwrites a secret; the compiler may not remove it.
void SecureWipe(std::span<uint8_t> secret);

}  // namespace ruvd::privacy
