// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "node/log/log_limit.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/link_credential.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::admission {

// What the other end of a TLS connection between nodes has proved to be.
enum class LinkParty : uint8_t {
  kMember,     // of the cluster
  kApplicant,  // knows a join token, or comes for the certificate of its next key
};

// Decides in the TLS handshake, before a byte of HTTP/2 is read, who may go on: members of the
// cluster, and at the authority's node those with a join token. Strangers get no further.
// Thread-safe.
class LinkGate {
 public:
  // Returns whether a credential proves that its holder knows a join token.
  using KnowsToken =
      std::function<bool(const privacy::ApplicantCredential& credential, const Digest& tls_key)>;
  // Of connections that were refused, how many for each reason
  using Refusals = std::map<std::string, uint64_t>;

  // The gate of a member, which knows the cluster's root. `clock` is borrowed.
  LinkGate(const privacy::PublicKey& root, const Clock& clock);
  // The gate of a node that wants to become one, and knows the cluster's id only.
  LinkGate(const privacy::ClusterId& cluster, const Clock& clock, std::nullopt_t root);

  // Returns whether the holder of a key that was replaced may come for its next certificate.
  using MayEndRotation = std::function<bool(const privacy::AdmissionCert& former)>;

  // Lets applicants in from now on. Both functions are called under the gate's lock: they must not
  // call the gate.
  void AdmitApplicants(KnowsToken knows, MayEndRotation may_end = nullptr);
  // Refuses the nodes of a newer list. Returns the errors of Revocations::Take; a gate without a
  // root must not be asked.
  absl::Status Revoke(const privacy::RevocationList& list);

  // `hear` hears of each statement of the root that ends issuers which were good before: in
  // certificates of members that this node may not link to any more, and that no other way would
  // tell it. It is called on gRPC's threads, under the gate's lock.
  using HearIssuer = std::function<void(const privacy::IssuerCert&)>;
  void OnIssuersEnded(HearIssuer hear);
  // Returns whether the list and the root allow a certificate (Revocations::Require), such as the
  // node's own.
  absl::Status Require(const privacy::AdmissionCert& certificate) const;
  // Forgets all callbacks, before the end of what they use. None runs after this returns.
  void Close();

  // Judges who shows this certificate (PEM), whose key TLS has checked. CERTIFICATE_INVALID for a
  // certificate without a credential, the errors of MemberCredential::Verify and
  // Revocations::Require, TOKEN_INVALID for a token that is not known here.
  absl::StatusOr<LinkParty> Judge(std::string_view pem);
  // Judges the node that was dialled, which has to be a member.
  absl::Status RequireMember(std::string_view pem);
  // Judges a caller, counts a refusal, and logs some of them.
  absl::Status Admit(std::string_view pem);
  Refusals refusals() const;

 private:
  // Returns whether a member that was refused for this reason may still renew its certificate.
  bool MayRenew(const absl::Status& refusal, const privacy::AdmissionCert& certificate) const;
  absl::Status RequireValid(const privacy::MemberCredential& member, const Digest& tls_key);
  void Learn(const privacy::IssuerCert& issuer);

  const privacy::ClusterId cluster_;
  const Clock& clock_;
  mutable Mutex mutex_;
  KnowsToken knows_token_ ABSL_GUARDED_BY(mutex_);  // null: no applicant is admitted
  MayEndRotation may_end_rotation_ ABSL_GUARDED_BY(mutex_);
  HearIssuer hear_issuer_ ABSL_GUARDED_BY(mutex_);
  std::optional<privacy::Revocations> revocations_ ABSL_GUARDED_BY(mutex_);
  Refusals refusals_ ABSL_GUARDED_BY(mutex_);
  LogLimit lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::admission
