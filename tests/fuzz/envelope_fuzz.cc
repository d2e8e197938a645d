// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Envelopes and admission certificates from outside. Whatever parses must encode to the same bytes,
// and nothing that the fuzzer made may verify.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  static const ClusterAuthority authority = ClusterAuthority::FromSeed(KeySeed{1});
  if (const auto cert = AdmissionCert::Parse(bytes); cert.ok()) {
    RUVD_CHECK(cert->Encode() == AsText(bytes));
    RUVD_CHECK(!cert->Verify(authority.public_key(), cert->not_before_ms).ok());
  }
  if (const auto header = ParseHeader(bytes); header.ok()) {
    RUVD_CHECK(EncodeHeader(*header) == AsText(bytes));
  }
  static const NodeKey key = NodeKey::FromSeed(KeySeed{2});
  static const AdmissionCert sender = *authority.Issue({.node_key = key.public_key(),
                                                        .name = "fuzz",
                                                        .roles = roles::kMember,
                                                        .not_before_ms = 0,
                                                        .not_after_ms = 1000,
                                                        .serial = 1});
  const size_t header_size = std::min(size, kEnvelopeHeaderBytes);
  const size_t signature_size = std::min(size - header_size, sizeof(Signature));
  Envelope envelope;
  envelope.header = AsText(bytes.first(header_size));
  envelope.signature = AsText(bytes.subspan(header_size, signature_size));
  envelope.body = AsText(bytes.subspan(header_size + signature_size));
  EnvelopeRules rules;
  rules.cluster_id = authority.cluster_id();
  rules.now_ms = 500;
  rules.certificate_of = [](const NodeId&) { return &sender; };
  RUVD_CHECK(!VerifyEnvelope(envelope, rules).ok());
  return 0;
}
