// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// In a simulation one process checks the same signature on behalf of thousands of nodes. The
// binaries of this folder therefore link libsodium's two slow checks through a memory (--wrap of
// the linker): the first check of the same key, message and signature is libsodium's own, later
// ones repeat its answer. Both are pure functions, so no answer differs from what every node would
// find by itself, and a forgery is still refused by libsodium.

// Large worlds may have simulated signatures instead: a fast keyed hash, whose key is known to the
// process alone. Nobody can make one for a key of which the process never signed, and altered bytes
// are refused, but nothing of it is cryptography; worlds of up to 100 nodes use libsodium's.

#pragma once

#include <cstdint>

namespace ruvd::test {

struct SignatureMemoCounters {
  uint64_t asked = 0;
  uint64_t computed = 0;
};

// Since the start of the process. Not thread-safe, like the simulation.
const SignatureMemoCounters& SignatureMemo();

// Whether signatures made and checked from now on are simulated ones. Real ones of keys that never
// signed a simulated one are still accepted.
void SimulateSignatures(bool simulate);

}  // namespace ruvd::test
