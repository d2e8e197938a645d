// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// In a simulation one process checks the same signature on behalf of thousands of nodes. The
// binaries of this folder therefore link libsodium's two slow functions through a cache (--wrap of
// the linker): libsodium itself does the first check of a key, message and signature; later checks
// repeat its answer. Both functions are pure, so no answer differs from what every node would find
// by itself, and libsodium still refuses a forgery.

// Large worlds may use simulated signatures instead: a fast keyed hash whose key only the process
// knows. A signature for a key with which the process never signed cannot be made, and altered
// bytes are refused, but this is not cryptography; worlds of up to 100 nodes use libsodium's
// signatures.

#pragma once

#include <cstdint>

namespace ruvd::test {

struct SignatureMemoCounters {
  uint64_t asked = 0;
  uint64_t computed = 0;
};

// Counts since the start of the process. Not thread-safe, like the simulation.
const SignatureMemoCounters& SignatureMemo();

// Chooses whether signatures made and checked from now on are simulated. Real ones of keys that
// never signed a simulated one are still accepted.
void SimulateSignatures(bool simulate);

}  // namespace ruvd::test
