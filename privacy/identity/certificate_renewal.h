// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::privacy {

// A member's request for a new certificate in place of one that is still good, signed with its key.
// A plain value; docs/wire-format.md has the bytes that are signed.
struct CertificateRenewal {
  AdmissionCert certificate;  // the present one
  Signature proof{};

  // `nonce` is that of the greeting which the authority answered, so that the request is good once.
  static CertificateRenewal Sign(const AdmissionCert& certificate, const JoinWelcome::Nonce& nonce,
                                 const NodeKey& key);
};

// The issuer's side: the same name, key and roles from `now_ms` on for kMaxCertificateMillis.
// CERTIFICATE_FOREIGN, CERTIFICATE_EXPIRED (a member that is over joins anew, by a token),
// SIGNATURE_INVALID, KEY_INVALID; NODE_REVOKED for who is on `revoked`.
absl::StatusOr<AdmissionCert> RenewCertificate(const ClusterAuthority& authority,
                                               const RevocationList& revoked,
                                               const CertificateRenewal& renewal,
                                               const JoinWelcome::Nonce& nonce, int64_t now_ms,
                                               uint64_t serial);

// Whether a certificate should be renewed: less than a third of its life is left.
bool RenewalDue(const AdmissionCert& certificate, int64_t now_ms);

}  // namespace ruvd::privacy
