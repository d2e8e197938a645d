// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Payloads and signed bodies from outside: whatever decodes must encode to the same bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/gossip/manifest.h"
#include "federation/masked/messages.h"
#include "federation/membership/member_record.h"
#include "federation/patterns/shared_pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  if (const auto pattern = ruvd::federation::DecodeSharedPattern(bytes); pattern.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeSharedPattern(*pattern) == AsText(bytes));
  }
  if (const auto key = ruvd::federation::DecodeMaskKey(bytes); key.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeMaskKey(*key) == AsText(bytes));
    RUVD_CHECK(size <= ruvd::federation::MaxMaskPayloadBytes(ruvd::federation::ItemKind::kMaskKey));
  }
  if (const auto set = ruvd::federation::DecodeMaskSet(bytes, {}); set.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeMaskSet(*set) == AsText(bytes));
    RUVD_CHECK(size <= ruvd::federation::MaxMaskPayloadBytes(ruvd::federation::ItemKind::kMaskSet));
  }
  if (const auto commitment = ruvd::federation::DecodeMaskCommitment(bytes); commitment.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeMaskCommitment(*commitment) == AsText(bytes));
    RUVD_CHECK(size ==
               ruvd::federation::MaxMaskPayloadBytes(ruvd::federation::ItemKind::kMaskCommitment));
  }
  if (const auto share = ruvd::federation::DecodeMaskShare(bytes); share.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeMaskShare(*share) == AsText(bytes));
    RUVD_CHECK(size <=
               ruvd::federation::MaxMaskPayloadBytes(ruvd::federation::ItemKind::kMaskShare));
  }
  if (const auto manifest = ruvd::federation::DecodeManifest(bytes); manifest.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeManifest(*manifest) == AsText(bytes));
  }
  if (const auto record = ruvd::federation::DecodeMemberRecord(bytes); record.ok()) {
    RUVD_CHECK(ruvd::federation::EncodeMemberRecord(*record) == AsText(bytes));
  }
  return 0;
}
