// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of deep rounds: what the decoder accepts must encode to the same bytes again.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "node/learning/deep_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto checkpoint = ruvd::learning::DecodeDeepCheckpoint({data, size}); checkpoint.ok()) {
    RUVD_CHECK(ruvd::learning::EncodeDeepCheckpoint(*checkpoint) == ruvd::AsText({data, size}));
  }
  return 0;
}
