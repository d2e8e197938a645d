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

std::string RenewalBytes(const CertificateRenewal& renewal, const JoinWelcome::Nonce& nonce) {
  constexpr std::string_view kDomain("RUVDLLM-RENEW-v1\0", 17);
  ByteWriter writer;
  writer.WriteText(kDomain).WriteBytes(nonce).WriteText(renewal.certificate.Encode());
  writer.Write(static_cast<uint8_t>(renewal.ends_former ? 1 : 0));
  if (renewal.rotation) {
    writer.WriteText(renewal.rotation->Encode());
  }
  return writer.Take();
}

absl::Status CheckRotation(const KeyRotation& rotation, const AdmissionCert& present) {
  if (rotation.node != present.node_id || rotation.former != present.node_key ||
      rotation.epoch != present.key_epoch + 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "the rotation to key {} does not follow the certificate of {} for key {}; rotate "
                 "from the key of the newest certificate",
                 rotation.epoch, present.name, present.key_epoch);
  }
  if (rotation.epoch > limits::kMaxKeyRotations) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the key of {} was replaced {} times, which is the limit; join with an empty data "
                 "folder, which gives the node a new id",
                 present.name, limits::kMaxKeyRotations);
  }
  return rotation.Verify();
}

}  // namespace

CertificateRenewal CertificateRenewal::Sign(const AdmissionCert& certificate,
                                            const JoinWelcome::Nonce& nonce, const NodeKey& key,
                                            const std::optional<KeyRotation>& rotation,
                                            bool ends_former) {
  CertificateRenewal renewal{
      .certificate = certificate, .rotation = rotation, .ends_former = ends_former};
  renewal.proof = key.Sign(AsBytes(RenewalBytes(renewal, nonce)));
  return renewal;
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
  if (!VerifySignature(present.node_key, AsBytes(RenewalBytes(renewal, nonce)), renewal.proof)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kSignatureInvalid,
                 "the request for a new certificate is not signed by the key of the old one; sign "
                 "it with that node's key");
  }
  if (renewal.rotation) {
    RETURN_IF_ERROR(CheckRotation(*renewal.rotation, present));
  }
  return authority.Issue(
      {.node_key = renewal.rotation ? renewal.rotation->next : present.node_key,
       .node_id = present.node_id,
       .key_epoch = renewal.rotation ? renewal.rotation->epoch : present.key_epoch,
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
