// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/admission/identity.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/identity/granted_keys.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/join_token.h"
#include "privacy/identity/link_credential.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::admission {

// An invitation for a node that may join, and its end time.
struct Invitation {
  privacy::JoinInvitation text;
  int64_t expires_ms = 0;  // Unix time
};

// Returns the newest keys of nodes that replaced theirs, as the authority of a data folder
// remembers them. Returns KEY_INVALID for a damaged file.
absl::StatusOr<privacy::GrantedKeys> LoadGrantedKeys(const std::string& data_dir);

// The work of the node that holds the cluster authority's key: it invites, admits and revokes
// nodes. The hashes of its tokens are in DATA_DIR/join-tokens, and the keys that it certified in
// place of earlier ones in DATA_DIR/granted-keys; these and the revocation list are fsynced before
// a call returns. Methods wait for the disk. Thread-safe.
class AdmissionController {
 public:
  // Opens the office for the key DATA_DIR/authority.key and the root's statement about it,
  // DATA_DIR/authority.cert. Returns the errors of ClusterAuthority::Load, or TOKEN_INVALID for a
  // damaged list of tokens. `revocations` and `clock` are borrowed.
  static absl::StatusOr<std::unique_ptr<AdmissionController>> Open(const std::string& data_dir,
                                                                   RevocationFile& revocations,
                                                                   const Clock& clock);

  // Makes an invitation for one node, valid for `lifetime_ms`. Returns the errors of
  // JoinTokens::Issue.
  absl::StatusOr<Invitation> Invite(uint32_t roles, int64_t lifetime_ms);
  // Returns whether a member whose key counts no more may come for the certificate of its next one:
  // the call that replaced the key may have been cut off. It waits for no disk.
  bool MayEndRotation(const privacy::AdmissionCert& former) const;
  // Returns whether the other end of a TLS connection knows a token (JoinTokens::Recognizes).
  bool Recognizes(const privacy::ApplicantCredential& credential, const Digest& tls_key) const {
    return tokens_.Recognizes(credential, tls_key, clock_.WallMillis());
  }
  // Returns the signed statement that a caller who sees the TLS certificate `certificate` talks to
  // this authority.
  privacy::JoinWelcome Welcome(const privacy::JoinWelcome::Nonce& nonce,
                               const Digest& certificate) const;
  // Admits a node and uses up its token. Returns NODE_REVOKED for a node that was ever revoked,
  // KEY_EPOCH_REFUSED for a key that is not the newest that was granted to the node, and the errors
  // of JoinTokens::Redeem, of RevocationFile::EverRevoked and of Refresh.
  absl::StatusOr<Membership> Admit(const privacy::JoinRequest& request);
  // Issues a new certificate to replace one that is still valid, perhaps for the node's next key,
  // which is then remembered for ever. The former key counts for kKeyOverlapMillis more, or ends at
  // once if the renewal says so. Returns ISSUER_ENDED if the root ended the issuer of that one,
  // KEY_EPOCH_REFUSED if the node has a later key or another next key already, LIMIT_EXCEEDED for
  // more than kMaxGrantedKeys nodes with replaced keys, and the errors of RenewCertificate, of
  // RevocationFile::EverRevoked and of Refresh. If a call was cut off, calling again is safe.
  absl::StatusOr<Membership> Renew(const privacy::CertificateRenewal& renewal,
                                   const privacy::JoinWelcome::Nonce& nonce);
  // Renews the certificate of the authority's own node, whatever issuer the present one is of.
  absl::StatusOr<privacy::AdmissionCert> RenewOwn(const privacy::AdmissionCert& certificate,
                                                  const privacy::NodeKey& key);
  // Revokes a node and returns the new revocation list. Returns the errors of RevocationFile::Add.
  absl::StatusOr<privacy::RevocationList> Revoke(const privacy::NodeId& node);
  // Returns the revocation list, signed now if it is missing, and again if it is older than
  // kRevocationsRefreshedMillis.
  // Returns the errors of RevocationFile::Refresh.
  absl::StatusOr<privacy::RevocationList> RefreshRevocations();
  const privacy::IssuerCert& issuer() const { return authority_.issuer(); }

 private:
  AdmissionController(privacy::ClusterAuthority authority, privacy::JoinGrants grants,
                      privacy::GrantedKeys keys, const std::string& data_dir,
                      RevocationFile& revocations, const Clock& clock);
  // Remembers durably that this certificate is for the node's newest key.
  absl::Status Grant(const privacy::AdmissionCert& certificate, int64_t former_until_ms);
  // Returns KEY_EPOCH_REFUSED if the request is not by the node's newest key.
  absl::Status CheckGranted(const privacy::CertificateRenewal& renewal) const;
  absl::StatusOr<privacy::AdmissionCert> Reissue(const privacy::CertificateRenewal& renewal,
                                                 const privacy::JoinWelcome::Nonce& nonce);

  const Clock& clock_;
  const privacy::ClusterAuthority authority_;
  privacy::JoinTokens tokens_;
  RevocationFile& revocations_;
  const std::string granted_path_;
  Mutex granting_;  // held while granted_ changes on disk
  // Apart from granting_, because the gate of links waits for it
  mutable Mutex granted_mutex_;
  privacy::GrantedKeys granted_ ABSL_GUARDED_BY(granted_mutex_);
};

}  // namespace ruvd::admission
