// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::privacy {

// A member's request for a new certificate in place of one that is still valid, signed with the key
// of that one. The new one may be for the node's next key. It is a plain value; docs/wire-format.md
// has the bytes that are signed.
struct CertificateRenewal {
  AdmissionCert certificate;            // the present one
  std::optional<KeyRotation> rotation;  // to the key that the new one shall be for
  bool ends_former = false;  // the present key counts no more at once, because it may be stolen
  Signature proof{};

  // `nonce` is the nonce of the greeting that the authority answered, so that the request is valid
  // only once.
  static CertificateRenewal Sign(const AdmissionCert& certificate, const JoinWelcome::Nonce& nonce,
                                 const NodeKey& key,
                                 const std::optional<KeyRotation>& rotation = std::nullopt,
                                 bool ends_former = false);
};

// Renews a certificate on the issuer's side: the new one has the same id, name and roles, the same
// or the next key, and is valid from `now_ms` for kMaxCertificateMillis. Fails with
// CERTIFICATE_FOREIGN, CERTIFICATE_EXPIRED (such a member must join again with a token),
// SIGNATURE_INVALID, KEY_INVALID (also for a rotation from another key), LIMIT_EXCEEDED after
// kMaxKeyRotations, or NODE_REVOKED if the node is on `revoked`. Whether the present issuer was
// ended, and whether the key is still the node's newest, is the caller's to check.
absl::StatusOr<AdmissionCert> RenewCertificate(const ClusterAuthority& authority,
                                               const RevokedNodes& revoked,
                                               const CertificateRenewal& renewal,
                                               const JoinWelcome::Nonce& nonce, int64_t now_ms,
                                               uint64_t serial);

// Returns whether a certificate should be renewed, which is when less than a third of its lifetime
// is left.
bool RenewalDue(const AdmissionCert& certificate, int64_t now_ms);

}  // namespace ruvd::privacy
