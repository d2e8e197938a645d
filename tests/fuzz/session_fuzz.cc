// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the session index: what the decoder accepts must encode to bytes that decode to the same
// value.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/sessions/session_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using ruvd::storage::sessions::DecodeSession;
  using ruvd::storage::sessions::EncodeSession;
  if (const auto session = DecodeSession(ruvd::AsText({data, size})); session.ok()) {
    RUVD_CHECK(DecodeSession(EncodeSession(*session)).ok());
  }
  return 0;
}
