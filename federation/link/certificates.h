// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "federation/link/signature_budget.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::federation {

// Verifies certificates of the cluster and caches them, so that the issuer's signature is checked
// once per certificate. The cache is bounded. Not thread-safe.
class CertificateStore {
 public:
  // `root` is the public key of the cluster's root.
  explicit CertificateStore(const privacy::PublicKey& root) : root_(root), revocations_(root) {}

  // Returns the certificate in `bytes` if it is valid at `now_ms`. The pointer is valid until the
  // next call. Errors: those of AdmissionCert::Parse and Verify, and of Require.
  absl::StatusOr<const privacy::AdmissionCert*> Admit(std::span<const uint8_t> bytes,
                                                      int64_t now_ms);
  // The budget that peers' checks are charged to
  SignatureBudget& budget() { return budget_; }
  const SignatureBudget& budget() const { return budget_; }
  // Charges one check; BUSY if the budget is spent.
  absl::Status TakeCheck();

  // Stops admitting the nodes that the list names. Returns the errors of Revocations::Take.
  absl::Status Revoke(const privacy::RevocationList& list) { return revocations_.Take(list); }
  const privacy::RevocationList& revocations() const { return revocations_.list(); }
  // Stops admitting nodes of earlier issuers, if the root says so in this statement. Returns
  // whether that is news, or the errors of IssuerCert::Verify.
  absl::StatusOr<bool> Learn(const privacy::IssuerCert& issuer) {
    RETURN_IF_ERROR(issuer.Verify(root_));
    return revocations_.Learn(issuer);
  }
  uint32_t least_issuer() const { return revocations_.least_issuer(); }
  // Returns whether the holder of a certificate that was admitted may stay: NODE_REVOKED,
  // KEY_EPOCH_REFUSED, ISSUER_ENDED, or CERTIFICATE_EXPIRED by the time of the list.
  absl::Status Require(const privacy::AdmissionCert& certificate) const {
    return revocations_.Require(certificate);
  }
  // Returns REVOCATION_STALE if the list is older than `max_stale`; 0 accepts any age.
  absl::Status RequireFresh(std::chrono::milliseconds max_stale, int64_t now_ms) const {
    return revocations_.RequireFresh(now_ms, max_stale.count());
  }
  const privacy::PublicKey& root() const { return root_; }

 private:
  struct Known {
    std::string bytes;
    privacy::AdmissionCert cert;
  };
  privacy::PublicKey root_;
  privacy::Revocations revocations_;
  std::map<privacy::NodeId, Known> known_;
  SignatureBudget budget_;
};

// Runs VerifyEnvelope for envelopes whose body begins with their sender's certificate. BUSY if the
// budget of `certificates` is spent.
absl::StatusOr<privacy::EnvelopeHeader> VerifyCertified(const privacy::Envelope& envelope,
                                                        CertificateStore& certificates,
                                                        privacy::EnvelopeRules rules);

}  // namespace ruvd::federation
