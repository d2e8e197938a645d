// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Experts from outside: whatever decodes must encode to the same bytes, and what passes the check
// has the form that its owner relies on.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/patterns/shared_expert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  const auto expert = federation::DecodeSharedExpert(bytes);
  if (expert.ok()) {
    RUVD_CHECK(federation::EncodeSharedExpert(*expert) == AsText(bytes));
    RUVD_CHECK(size == federation::kSharedExpertHeaderBytes + expert->file.size());
    if (federation::CheckSharedExpert(*expert).ok()) {
      RUVD_CHECK(expert->version > 0 && expert->lessons > 0 && expert->created_ms > 0);
      RUVD_CHECK(expert->file.starts_with("GGUF"));
    }
  }
  return 0;
}
