// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the list of changes: what the decoders accept must encode to bytes that decode to the
// same value.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/changes/change_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::storage::changes;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto change = DecodeChange(bytes, 1); change.ok()) {
    RUVD_CHECK(DecodeChange(EncodeChange(*change), 1).value() == *change);
  }
  if (const auto image = DecodeImage(bytes); image.ok()) {
    RUVD_CHECK(DecodeImage(EncodeImage(*image)).ok());
  }
  return 0;
}
