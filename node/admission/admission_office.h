// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/identity/signing_key.h"

namespace ruvd {

// What is handed to a node that may join, and until when it is good.
struct Invitation {
  JoinInvitation text;
  int64_t expires_ms = 0;  // Unix time
};

// What the node does that holds the cluster authority's key: invites, admits, revokes. Keeps the
// hashes of its tokens in DATA_DIR/join-tokens; they and the list of the revoked are fsynced before
// anything is answered. Methods wait for the disk. Thread-safe.
class AdmissionOffice {
 public:
  // Of DATA_DIR/authority.key. FILE_NOT_FOUND, KEY_FILE_MODE, KEY_INVALID; TOKEN_INVALID for a
  // damaged list of tokens. `revocations` and `clock` are borrowed.
  static absl::StatusOr<std::unique_ptr<AdmissionOffice>> Open(const std::string& data_dir,
                                                               RevocationFile& revocations,
                                                               const Clock& clock);

  // An invitation for one node, good for `lifetime_ms`. Errors of JoinTokens::Issue.
  absl::StatusOr<Invitation> Invite(uint32_t roles, int64_t lifetime_ms);
  // The word that whoever sees `certificate` talks to this authority.
  JoinWelcome Welcome(const JoinWelcome::Nonce& nonce, const Digest& certificate) const;
  // Uses the token up. NODE_REVOKED, errors of JoinTokens::Redeem and of reading the list.
  absl::StatusOr<AdmissionCert> Admit(const JoinRequest& request);
  // A new certificate in place of one that is still good. Errors of RenewCertificate and of
  // RevocationFile::Load.
  absl::StatusOr<AdmissionCert> Renew(const CertificateRenewal& renewal,
                                      const JoinWelcome::Nonce& nonce);
  // The same for the node itself.
  absl::StatusOr<AdmissionCert> RenewOwn(const AdmissionCert& certificate, const NodeKey& key);
  // The list with the node on it. Errors of RevocationFile::Add.
  absl::StatusOr<RevocationList> Revoke(const NodeId& node);
  // The list, signed anew where it is older than kRevocationsRefreshed. Errors of
  // RevocationFile::Refresh.
  absl::StatusOr<RevocationList> RefreshRevocations();

 private:
  AdmissionOffice(ClusterAuthority authority, SigningKey key, JoinGrants grants,
                  const std::string& data_dir, RevocationFile& revocations, const Clock& clock);

  const Clock& clock_;
  const ClusterAuthority authority_;
  const SigningKey key_;  // the authority's, for what is no certificate
  JoinTokens tokens_;
  RevocationFile& revocations_;
};

}  // namespace ruvd
