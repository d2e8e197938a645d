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

// A member's request for a new certificate in place of one that is still valid, signed with its
// key. It is a plain value; docs/wire-format.md has the bytes that are signed.
struct CertificateRenewal {
  AdmissionCert certificate;  // the present one
  Signature proof{};

  // `nonce` is the nonce of the greeting that the authority answered, so that the request is valid
  // only once.
  static CertificateRenewal Sign(const AdmissionCert& certificate, const JoinWelcome::Nonce& nonce,
                                 const NodeKey& key);
};

// Renews a certificate on the issuer's side: the new one has the same name, key and roles and is
// valid from `now_ms` for kMaxCertificateMillis. Fails with CERTIFICATE_FOREIGN,
// CERTIFICATE_EXPIRED (such a member must join again with a token), SIGNATURE_INVALID, KEY_INVALID,
// or NODE_REVOKED if the node is on `revoked`. Whether the present issuer was ended is the caller's
// to check.
absl::StatusOr<AdmissionCert> RenewCertificate(const ClusterAuthority& authority,
                                               const RevokedNodes& revoked,
                                               const CertificateRenewal& renewal,
                                               const JoinWelcome::Nonce& nonce, int64_t now_ms,
                                               uint64_t serial);

// Returns whether a certificate should be renewed, which is when less than a third of its lifetime
// is left.
bool RenewalDue(const AdmissionCert& certificate, int64_t now_ms);

}  // namespace ruvd::privacy
