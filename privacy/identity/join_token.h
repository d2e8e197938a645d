// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/link_credential.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::privacy {

// What the issuer stores about a token that it issued. The token itself is not stored.
struct JoinGrant {
  uint32_t roles = roles::kMember;
  int64_t issued_ms = 0;
  int64_t expires_ms = 0;  // exclusive, at most kMaxTokenMillis later
  bool used = false;
  bool operator==(const JoinGrant&) const = default;
};
// The grants by SHA-256("RUVDLLM-TOKEN-v1\0" || cluster id || the token's 32 bytes)
using JoinGrants = std::map<Digest, JoinGrant>;

std::string EncodeGrants(const JoinGrants& grants);
// Fails with TOKEN_INVALID unless the bytes are exactly what EncodeGrants returns.
absl::StatusOr<JoinGrants> DecodeGrants(std::span<const uint8_t> bytes);

// A node's request to join, signed with its key to prove that it holds the key.
struct JoinRequest {
  std::string token;  // as it was issued
  PublicKey node_key{};
  std::string rotations;  // that led to the key (NodeKeys::EncodeRotations); signed by themselves
  std::string name;
  Signature proof{};

  static JoinRequest Sign(std::string token, std::string name, const ClusterId& cluster,
                          const NodeKey& key);
};

// Returns the credential with which a node that was invited opens a TLS connection to the issuer.
// TOKEN_INVALID for an invitation whose token JoinTokens cannot have made.
absl::StatusOr<ApplicantCredential> MakeApplicantCredential(const JoinInvitation& invitation,
                                                            const Digest& tls_key);

// The issuer's side of joining: each token admits one node, once, with the token's roles.
// Thread-safe: if two nodes present one token at the same time, only one is admitted.
class JoinTokens {
 public:
  // Stores the grants durably. If storing an admission fails, its token stays used.
  using Keep = std::function<absl::Status(std::string_view grants)>;
  using MayJoin = std::function<absl::Status(const NodeKeys& keys)>;

  // `authority` must outlive this object.
  JoinTokens(const ClusterAuthority& authority, JoinGrants grants, Keep keep);

  // Returns a new token, "ruvd-join-" and 64 hexadecimal digits, of which only a hash is kept.
  // Drops expired grants. Fails with INVALID_ARGUMENT for unknown roles or a lifetime that is not
  // above 0 or above kMaxTokenMillis, with LIMIT_EXCEEDED, and with the errors of `keep`.
  absl::StatusOr<std::string> Issue(uint32_t roles, int64_t now_ms, int64_t lifetime_ms);

  // Issues a certificate for kMaxCertificateMillis and marks the token as used. Fails with
  // TOKEN_INVALID, TOKEN_USED, TOKEN_EXPIRED, SIGNATURE_INVALID, the errors of NodeKeys::Through,
  // CERTIFICATE_INVALID for an unusable name, or NODE_REVOKED for a node on `revoked`, which is
  // checked last. None of these errors uses up the token; an error of `keep` does.
  // `may_join` is asked about the node's keys before the certificate is issued, and its error is
  // returned. Rotations are read only for a token that is good and a proof that is right, because
  // that takes long.
  absl::StatusOr<AdmissionCert> Redeem(const JoinRequest& request, int64_t now_ms, uint64_t serial,
                                       const RevokedNodes& revoked = {},
                                       const MayJoin& may_join = nullptr);

  // Returns whether the other end of a TLS connection knows a token of the list. The token may be
  // used, or have expired within kTokenGraceMillis, so that Redeem can say so. It is cheap and
  // waits for no `keep`.
  bool Recognizes(const ApplicantCredential& credential, const Digest& tls_key,
                  int64_t now_ms) const;

  JoinGrants grants() const;

 private:
  // Notes the names of these tokens.
  void Name(const JoinGrants& grants);

  const ClusterAuthority& authority_;
  const Keep keep_;
  mutable Mutex mutex_;
  JoinGrants grants_ ABSL_GUARDED_BY(mutex_);
  // The tokens of grants_ by their names, apart from them because mutex_ is held during writes
  struct Named {
    Digest hash{};
    int64_t expires_ms = 0;
  };
  mutable Mutex names_mutex_;
  std::map<Digest, Named> names_ ABSL_GUARDED_BY(names_mutex_);
};

}  // namespace ruvd::privacy
