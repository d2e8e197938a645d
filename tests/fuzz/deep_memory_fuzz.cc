// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Memories of deep rounds: what the decoder accepts must encode to the same bytes again.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "node/learning/deep_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto memory = ruvd::learning::DecodeDeepMemory({data, size}); memory.ok()) {
    RUVD_CHECK(ruvd::learning::EncodeDeepMemory(*memory) == ruvd::AsText({data, size}));
  }
  return 0;
}
