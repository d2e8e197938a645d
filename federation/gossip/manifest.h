// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/events/item.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

// The body type of an envelope with a manifest. The first AdmissionCert::kBytes bytes of such a
// body are the sender's certificate, so that every receiver can check an envelope, in any order.
inline constexpr uint16_t kBodyManifest = 2;

// The signed description of a payload: the body of envelopes of purposes 2, 3 and 4.
struct Manifest {
  privacy::AdmissionCert certificate;
  ItemKind kind = ItemKind::kPattern;
  uint64_t payload_bytes = 0;
  Digest payload_root{};  // root of the MerkleTree
  Digest model_hash{};
  Digest frame_id{};
};

std::string EncodeManifest(const Manifest& manifest);
// Returns ENVELOPE_MALFORMED for a wrong length or kind, LIMIT_EXCEEDED above kMaxPayloadBytes.
absl::StatusOr<Manifest> DecodeManifest(std::span<const uint8_t> body);

}  // namespace ruvd::federation
