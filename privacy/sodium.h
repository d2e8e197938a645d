// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

namespace ruvd::privacy {

// Initialises libsodium. Call it before any use of <sodium.h>; it may be called many times and from
// any thread. It aborts the process if the system's random source does not work, because no key or
// nonce could be trusted.
void InitSodium();

// Fills `out` with random bytes that are fit for keys and nonces. Thread-safe.
void SecureRandomBytes(std::span<uint8_t> out);
// Returns a number that cannot be foreseen, for example the seed of other random numbers.
// Thread-safe.
uint64_t SecureRandomNumber();

// Overwrites a secret in a way that the compiler does not remove.
void SecureWipe(std::span<uint8_t> secret);

}  // namespace ruvd::privacy
