// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/certificates.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/limits.h"

namespace ruvd::federation {

absl::StatusOr<const privacy::AdmissionCert*> CertificateStore::Admit(
    std::span<const uint8_t> bytes, int64_t now_ms) {
  const auto found = bytes.size() == privacy::AdmissionCert::kBytes
                         ? known_.find(privacy::AdmissionCert::ClaimedNodeId(bytes))
                         : known_.end();
  if (found != known_.end() && found->second.bytes == AsText(bytes)) {
    RETURN_IF_ERROR(found->second.cert.CheckTime(now_ms));
    RETURN_IF_ERROR(revocations_.Require(found->second.cert));
    return &found->second.cert;
  }
  ASSIGN_OR_RETURN(privacy::AdmissionCert cert, privacy::AdmissionCert::Parse(bytes));
  RETURN_IF_ERROR(cert.Verify(root_, now_ms));
  revocations_.Learn(cert.issuer);
  RETURN_IF_ERROR(revocations_.Require(cert));
  if (known_.size() >= 2 * limits::kMaxRecords && found == known_.end()) {
    // this is only a cache: the certificate is verified again when it returns
    known_.erase(known_.begin());
  }
  Known& known = known_[cert.node_id];
  known = {.bytes = std::string(AsText(bytes)), .cert = std::move(cert)};
  return &known.cert;
}

absl::Status CertificateStore::TakeCheck() {
  return budget_.Take()
             ? absl::OkStatus()
             : Error(absl::StatusCode::kResourceExhausted, reasons::kBusy,
                     "node has more signatures to check than its budget for peers allows; "
                     "the message has no effect for now");
}

absl::StatusOr<privacy::EnvelopeHeader> VerifyCertified(const privacy::Envelope& envelope,
                                                        CertificateStore& certificates,
                                                        privacy::EnvelopeRules rules) {
  if (envelope.body.size() < privacy::AdmissionCert::kBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "envelope body of {} bytes is truncated: it holds no certificate; "
                 "update the sending node",
                 envelope.body.size());
  }
  // Sizes are checked before the budget, because a message that the node is too busy to check may
  // be stored for later.
  if (envelope.header.size() > privacy::kEnvelopeHeaderBytes ||
      envelope.body.size() > limits::kMaxEnvelopeBytes ||
      envelope.signature.size() > sizeof(privacy::Signature)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "envelope with a header of {}, a body of {} and a signature of {} bytes exceeds "
                 "the limit of {} bytes in all; update the sending node",
                 envelope.header.size(), envelope.body.size(), envelope.signature.size(),
                 limits::kMaxEnvelopeBytes);
  }
  RETURN_IF_ERROR(certificates.TakeCheck());
  ASSIGN_OR_RETURN(const privacy::AdmissionCert* cert,
                   certificates.Admit(AsBytes(envelope.body).first(privacy::AdmissionCert::kBytes),
                                      rules.now_ms));
  rules.certificate_of = [cert](const privacy::NodeId& id) {
    return cert->node_id == id ? cert : nullptr;
  };
  return VerifyEnvelope(envelope, rules);
}

}  // namespace ruvd::federation
