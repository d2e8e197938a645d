// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Envelopes and admission certificates that come from outside. Whatever parses must encode to the
// same bytes, and nothing that the fuzzer made may verify.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"

namespace {

// Takes the input as edits (u16 offset, u8 XOR) of a good envelope: it verifies exactly if all
// edits cancel out.
void CheckEdits(std::span<const uint8_t> edits, const ruvd::privacy::NodeKey& key,
                const ruvd::privacy::EnvelopeRules& rules) {
  ruvd::privacy::EnvelopeHeader header;
  header.cluster_id = rules.cluster_id;
  header.seq = 1;
  header.expires_ms = 1000;
  static const ruvd::privacy::Envelope good = *ruvd::privacy::SealEnvelope(header, "a body", key);
  ruvd::privacy::Envelope envelope = good;
  ruvd::ByteReader reader(edits);
  while (reader.remaining() >= 3) {
    size_t offset = *reader.Read<uint16_t>() % 256;
    const auto change = static_cast<char>(*reader.Read<uint8_t>());
    for (std::string* part : {&envelope.header, &envelope.body, &envelope.signature}) {
      if (offset < part->size()) {
        (*part)[offset] ^= change;
        break;
      }
      offset -= part->size();
    }
  }
  RUVD_CHECK(ruvd::privacy::VerifyEnvelope(envelope, rules).ok() == (envelope == good));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd;
  const std::span<const uint8_t> bytes(data, size);
  static const ruvd::privacy::ClusterAuthority authority =
      ruvd::privacy::ClusterAuthority::FromSeed(ruvd::privacy::KeySeed{1});
  if (const auto cert = ruvd::privacy::AdmissionCert::Parse(bytes); cert.ok()) {
    RUVD_CHECK(cert->Encode() == AsText(bytes));
    RUVD_CHECK(!cert->Verify(authority.public_key(), cert->not_before_ms).ok());
  }
  if (const auto header = ruvd::privacy::ParseHeader(bytes); header.ok()) {
    RUVD_CHECK(ruvd::privacy::EncodeHeader(*header) == AsText(bytes));
  }
  static const ruvd::privacy::NodeKey key =
      ruvd::privacy::NodeKey::FromSeed(ruvd::privacy::KeySeed{2});
  static const ruvd::privacy::AdmissionCert sender =
      *authority.Issue({.node_key = key.public_key(),
                        .name = "fuzz",
                        .roles = ruvd::privacy::roles::kMember,
                        .not_before_ms = 0,
                        .not_after_ms = 1000,
                        .serial = 1});
  const size_t header_size = std::min(size, ruvd::privacy::kEnvelopeHeaderBytes);
  const size_t signature_size = std::min(size - header_size, sizeof(ruvd::privacy::Signature));
  ruvd::privacy::Envelope envelope;
  envelope.header = AsText(bytes.first(header_size));
  envelope.signature = AsText(bytes.subspan(header_size, signature_size));
  envelope.body = AsText(bytes.subspan(header_size + signature_size));
  ruvd::privacy::EnvelopeRules rules;
  rules.cluster_id = authority.cluster_id();
  rules.now_ms = 500;
  rules.certificate_of = [](const ruvd::privacy::NodeId&) { return &sender; };
  RUVD_CHECK(!ruvd::privacy::VerifyEnvelope(envelope, rules).ok());
  CheckEdits(bytes, key, rules);
  return 0;
}
