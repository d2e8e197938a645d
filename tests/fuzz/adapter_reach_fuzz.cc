// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which prompts an adapter is for: what the decoder accepts must encode to the same bytes again.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "node/serving/adapter_reach.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto reach = ruvd::serving::DecodeAdapterReach({data, size}); reach.ok()) {
    RUVD_CHECK(ruvd::serving::EncodeAdapterReach(*reach) == ruvd::AsText({data, size}));
  }
  return 0;
}
