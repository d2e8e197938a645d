// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/certificate_renewer.h"

#include <fmt/format.h>

#include <string>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/certificate_renewal.h"
#include "privacy/reasons.h"

namespace ruvd::admission {
namespace {

// Ranks the reasons of a failed renewal: the authority's refusal is the most useful, then an
// unreachable address, then an answer from a node that is not the authority.
int RefusalRank(const absl::Status& refusal) {
  const std::string reason = ReasonOf(refusal);
  if (reason == reasons::kNotFound) {
    return 0;
  }
  const bool silent = reason == reasons::kNodeUnreachable || reason == reasons::kDeadlineExceeded;
  return silent ? 1 : 2;
}

}  // namespace

absl::StatusOr<privacy::AdmissionCert> CertificateRenewer::RequestRenewal() const {
  if (options_.office != nullptr) {
    return options_.office->RenewOwn(present_, *options_.key);
  }
  absl::Status told =
      Error(absl::StatusCode::kFailedPrecondition, reasons::kNotFound,
            "federation.seeds names no address to ask; add the address of the authority's node");
  int rank = -1;
  for (const std::string& address : options_.addresses) {
    if (options_.stopped()) {
      return told;
    }
    auto renewed = options_.renew(address, present_);
    const absl::Status status =
        renewed.ok() ? CheckSameMember(*renewed, address) : renewed.status();
    if (status.ok()) {
      return renewed;
    }
    if (RefusalRank(status) > rank) {
      told = status;
      rank = RefusalRank(status);
    }
  }
  return told;
}

absl::Status CertificateRenewer::CheckSameMember(const privacy::AdmissionCert& certificate,
                                                 const std::string& where) const {
  if (certificate.node_key == present_.node_key && certificate.name == present_.name &&
      certificate.issuer.root == present_.issuer.root &&
      certificate.issuer.number >= present_.issuer.number) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kCertificateInvalid,
               "the certificate from {} is for {} and has another key, name or cluster, or an "
               "earlier issuer, than the "
               "certificate in use; to become that member, put it in place and restart the node",
               where, certificate.name);
}

absl::Status CertificateRenewer::CheckCertificate() {
  absl::Status placed;  // the error of the file
  if (const auto stored = options_.load(); stored.ok() && stored->Supersedes(present_)) {
    placed = CheckSameMember(*stored, options_.path);
    if (placed.ok()) {
      present_ = *stored;
      options_.take(present_);
    }
  }
  const int64_t now_ms = options_.clock->WallMillis();
  // The authority's own node shows the root's latest statement to the others by its certificate.
  const bool former_issuer =
      options_.office != nullptr && options_.office->issuer().number > present_.issuer.number;
  if ((!privacy::RenewalDue(present_, now_ms) && !former_issuer) || !placed.ok()) {
    return placed;  // the operator's file is not overwritten
  }
  const absl::StatusOr<privacy::AdmissionCert> renewed = RequestRenewal();
  if (!renewed.ok()) {
    return Annotate(renewed.status(),
                    fmt::format("this node's certificate is valid for {:.1f} h more and could not "
                                "be renewed (`ruvd cert renew` renews it by hand)",
                                static_cast<double>(present_.not_after_ms - now_ms) / 3.6e6));
  }
  present_ = *renewed;
  options_.take(present_);
  if (const auto stored = options_.load(); stored.ok() && stored->Supersedes(present_)) {
    return absl::OkStatus();  // `ruvd cert rotate` has put that of the next key there meanwhile
  }
  return WriteFileAtomically(options_.path, present_.Encode());
}

}  // namespace ruvd::admission
