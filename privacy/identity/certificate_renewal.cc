// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/certificate_renewal.h"

#include <string_view>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

std::string RenewalBytes(const AdmissionCert& certificate, const JoinWelcome::Nonce& nonce) {
  constexpr std::string_view kDomain("RUVDLLM-RENEW-v1\0", 17);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(nonce).WriteText(certificate.Encode());
  return writer.Take();
}

}  // namespace

CertificateRenewal CertificateRenewal::Sign(const AdmissionCert& certificate,
                                            const JoinWelcome::Nonce& nonce, const NodeKey& key) {
  return {.certificate = certificate, .proof = key.Sign(AsBytes(RenewalBytes(certificate, nonce)))};
}

absl::StatusOr<AdmissionCert> RenewCertificate(const ClusterAuthority& authority,
                                               const RevokedNodes& revoked,
                                               const CertificateRenewal& renewal,
                                               const JoinWelcome::Nonce& nonce, int64_t now_ms,
                                               uint64_t serial) {
  const AdmissionCert& present = renewal.certificate;
  RETURN_IF_ERROR(present.Verify(authority.public_key(), now_ms));
  if (revoked.contains(present.node_id)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
                 "node {} was revoked; it needs a new key and a new join token", present.name);
  }
  if (!VerifySignature(present.node_key, AsBytes(RenewalBytes(present, nonce)), renewal.proof)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the request for a new certificate is not signed by the key of the old one; sign "
                 "it with that node's key");
  }
  return authority.Issue({.node_key = present.node_key,
                          .name = present.name,
                          .roles = present.roles,
                          .not_before_ms = now_ms,
                          .not_after_ms = now_ms + limits::kMaxCertificateMillis,
                          .serial = serial});
}

bool RenewalDue(const AdmissionCert& certificate, int64_t now_ms) {
  const int64_t life_ms = certificate.not_after_ms - certificate.not_before_ms;
  return certificate.not_after_ms - now_ms < life_ms / 3;
}

}  // namespace ruvd::privacy
