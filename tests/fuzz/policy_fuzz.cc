// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the policy store: what a decoder accepts must encode to bytes that decode to the same
// value.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/policies/policy_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace policies = ruvd::storage::policies;
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto policy = policies::DecodePolicy(bytes, {}); policy.ok()) {
    const std::string again = policies::EncodePolicy(*policy);
    RUVD_CHECK(policies::EncodePolicy(policies::DecodePolicy(again, {}).value()) == again);
  }
  if (const auto fisher = policies::DecodeFisher(bytes); fisher.ok()) {
    RUVD_CHECK(policies::EncodeFisher(*fisher) == bytes);
  }
  if (const auto accessed_ms = policies::DecodeAccess(bytes); accessed_ms.ok()) {
    RUVD_CHECK(policies::EncodeAccess(*accessed_ms) == bytes);
  }
  return 0;
}
