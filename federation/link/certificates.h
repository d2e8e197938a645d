// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "federation/link/signature_budget.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::federation {

// Verifies certificates of the cluster and remembers them, so that a signature of the issuer is
// checked once per certificate. Bounded. Not thread-safe.
class CertificateStore {
 public:
  explicit CertificateStore(const privacy::PublicKey& issuer)
      : issuer_(issuer), revocations_(issuer) {}

  // The certificate in `bytes` if it is good at `now_ms`. The pointer lives until the next call.
  // Errors of AdmissionCert::Parse and Verify; NODE_REVOKED.
  absl::StatusOr<const privacy::AdmissionCert*> Admit(std::span<const uint8_t> bytes,
                                                      int64_t now_ms);
  // What checks cost those who cause them.
  SignatureBudget& budget() { return budget_; }
  // Pays for a check, or BUSY.
  absl::Status TakeCheck();

  // Admits nobody any more whom the list names. Errors of Revocations::Take.
  absl::Status Revoke(const privacy::RevocationList& list) { return revocations_.Take(list); }
  const privacy::RevocationList& revocations() const { return revocations_.list(); }
  // REVOCATION_STALE where that is older than `max_stale`; 0: however old.
  absl::Status RequireFresh(std::chrono::milliseconds max_stale, int64_t now_ms) const {
    return revocations_.RequireFresh(now_ms, max_stale.count());
  }
  const privacy::PublicKey& issuer() const { return issuer_; }

 private:
  struct Known {
    std::string bytes;
    privacy::AdmissionCert cert;
  };
  privacy::PublicKey issuer_;
  privacy::Revocations revocations_;
  std::map<privacy::NodeId, Known> known_;
  SignatureBudget budget_;
};

// VerifyEnvelope for envelopes whose body begins with their sender's certificate. BUSY where the
// budget of `certificates` is spent.
absl::StatusOr<privacy::EnvelopeHeader> VerifyCertified(const privacy::Envelope& envelope,
                                                        CertificateStore& certificates,
                                                        privacy::EnvelopeRules rules);

}  // namespace ruvd::federation
