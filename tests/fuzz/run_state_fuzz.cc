// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/train/run_state.h"

// Any bytes are either refused or give a state that encodes to the same bytes again. The fuzzer
// cannot guess a SHA-256, so it writes everything but the checksum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const ruvd::Digest checksum = ruvd::Sha256(bytes);
  bytes += ruvd::AsText(checksum);
  const auto state = ruvd::inference::train::DecodeRunState(ruvd::AsBytes(bytes));
  if (state.ok()) {
    RUVD_CHECK(ruvd::inference::train::EncodeRunState(*state) == bytes);
  }
  return 0;
}
