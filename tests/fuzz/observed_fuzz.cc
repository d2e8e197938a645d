// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of lessons that were read for the token memory: what the decoder accepts encodes to bytes
// that decode to the same value.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/tokens/observed_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::storage::tokens;  // NOLINT(google-build-using-namespace)
  if (const auto lesson = DecodeObserved(ruvd::AsText({data, size})); lesson.ok()) {
    RUVD_CHECK(DecodeObserved(EncodeObserved(*lesson)).value() == *lesson);
  }
  return 0;
}
