// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs of the token memory: what the parser accepts has entries that vote with finite biases, or
// never, and is written back as it is read.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/memory/memory_run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kDimension = 32;
  const auto run = ruvd::inference::MemoryRun::Parse(ruvd::AsText({data, size}), 1, kDimension);
  if (!run.ok()) {
    return 0;
  }
  RUVD_CHECK((*run)->context() + (*run)->size() == (*run)->tokens().size());
  for (const float bias : (*run)->biases()) {
    RUVD_CHECK(std::isfinite(bias) || (std::isinf(bias) && bias < 0));
  }
  const std::string bytes = (*run)->Serialize();
  const auto again = ruvd::inference::MemoryRun::Parse(bytes, 1, kDimension);
  RUVD_CHECK(again.ok() && (*again)->Serialize() == bytes);
  return 0;
}
