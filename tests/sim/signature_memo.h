// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// In a simulation one process checks the same signature on behalf of thousands of nodes. The
// binaries of this folder therefore link libsodium's two slow checks through a memory (--wrap of
// the linker): the first check of the same key, message and signature is libsodium's own, later
// ones repeat its answer. Both are pure functions, so no answer differs from what every node would
// find by itself, and a forgery is still refused by libsodium.

#pragma once

#include <cstdint>

namespace ruvd::test {

struct SignatureMemoCounters {
  uint64_t asked = 0;
  uint64_t computed = 0;
};

// Since the start of the process. Not thread-safe, like the simulation.
const SignatureMemoCounters& SignatureMemo();

}  // namespace ruvd::test
