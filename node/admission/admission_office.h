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

namespace ruvd::admission {

// What is handed to a node that may join, and until when it is good.
struct Invitation {
  privacy::JoinInvitation text;
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
  privacy::JoinWelcome Welcome(const privacy::JoinWelcome::Nonce& nonce,
                               const Digest& certificate) const;
  // Uses the token up. NODE_REVOKED, errors of JoinTokens::Redeem and of reading the list.
  absl::StatusOr<privacy::AdmissionCert> Admit(const privacy::JoinRequest& request);
  // A new certificate in place of one that is still good. Errors of RenewCertificate and of
  // RevocationFile::Load.
  absl::StatusOr<privacy::AdmissionCert> Renew(const privacy::CertificateRenewal& renewal,
                                               const privacy::JoinWelcome::Nonce& nonce);
  // The same for the node itself.
  absl::StatusOr<privacy::AdmissionCert> RenewOwn(const privacy::AdmissionCert& certificate,
                                                  const privacy::NodeKey& key);
  // The list with the node on it. Errors of RevocationFile::Add.
  absl::StatusOr<privacy::RevocationList> Revoke(const privacy::NodeId& node);
  // The list, signed anew where it is older than kRevocationsRefreshed. Errors of
  // RevocationFile::Refresh.
  absl::StatusOr<privacy::RevocationList> RefreshRevocations();

 private:
  AdmissionOffice(privacy::ClusterAuthority authority, privacy::SigningKey key,
                  privacy::JoinGrants grants, const std::string& data_dir,
                  RevocationFile& revocations, const Clock& clock);

  const Clock& clock_;
  const privacy::ClusterAuthority authority_;
  const privacy::SigningKey key_;  // the authority's, for what is no certificate
  privacy::JoinTokens tokens_;
  RevocationFile& revocations_;
};

}  // namespace ruvd::admission
