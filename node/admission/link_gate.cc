// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/link_gate.h"

#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/limits.h"
#include "node/log/log.h"
#include "node/transport/tls.h"
#include "privacy/reasons.h"

namespace ruvd::admission {
namespace {

absl::Status Refused(std::string_view reason, std::string_view what) {
  return Error(absl::StatusCode::kPermissionDenied, reason, "{}", what);
}

}  // namespace

LinkGate::LinkGate(const privacy::PublicKey& root, const Clock& clock)
    : cluster_(privacy::ClusterIdOf(root)),
      clock_(clock),
      revocations_(privacy::Revocations(root)),
      lines_(clock, limits::kGateLogLines, limits::kGateLogPeriod) {}

LinkGate::LinkGate(const privacy::ClusterId& cluster, const Clock& clock, std::nullopt_t)
    : cluster_(cluster),
      clock_(clock),
      lines_(clock, limits::kGateLogLines, limits::kGateLogPeriod) {}

void LinkGate::AdmitApplicants(KnowsToken knows, MayEndRotation may_end) {
  const MutexLock lock(mutex_);
  knows_token_ = std::move(knows);
  may_end_rotation_ = std::move(may_end);
}

void LinkGate::OnIssuersEnded(HearIssuer hear) {
  const MutexLock lock(mutex_);
  hear_issuer_ = std::move(hear);
}

void LinkGate::Close() {
  const MutexLock lock(mutex_);
  knows_token_ = nullptr;
  may_end_rotation_ = nullptr;
  hear_issuer_ = nullptr;
}

absl::Status LinkGate::Revoke(const privacy::RevocationList& list) {
  const MutexLock lock(mutex_);
  RUVD_CHECK(revocations_.has_value());
  return revocations_->Take(list);
}

absl::Status LinkGate::Require(const privacy::AdmissionCert& certificate) const {
  const MutexLock lock(mutex_);
  return revocations_ ? revocations_->Require(certificate) : absl::OkStatus();
}

absl::Status LinkGate::RequireValid(const privacy::MemberCredential& member,
                                    const Digest& tls_key) {
  // Signatures come first, so that no stranger writes names of others into the log.
  RETURN_IF_ERROR(member.Verify(cluster_, tls_key, clock_.WallMillis()));
  Learn(member.certificate.issuer);
  return Require(member.certificate);
}

bool LinkGate::MayRenew(const absl::Status& refusal,
                        const privacy::AdmissionCert& certificate) const {
  const MutexLock lock(mutex_);
  return ReasonOf(refusal) == reasons::kKeyEpochRefused && may_end_rotation_ != nullptr &&
         may_end_rotation_(certificate);
}

void LinkGate::Learn(const privacy::IssuerCert& issuer) {
  const MutexLock lock(mutex_);
  if (revocations_ && revocations_->Learn(issuer) && hear_issuer_) {
    hear_issuer_(issuer);
  }
}

absl::StatusOr<LinkParty> LinkGate::Judge(std::string_view pem) {
  const std::optional<transport::Statement> statement = transport::StatementIn(pem);
  if (!statement) {
    return Refused(reasons::kCertificateInvalid,
                   "a TLS certificate says not which node it belongs to; only nodes of the cluster "
                   "may connect");
  }
  ASSIGN_OR_RETURN(const privacy::LinkCredential credential,
                   privacy::ParseLinkCredential(AsBytes(statement->text)));
  if (const auto* member = std::get_if<privacy::MemberCredential>(&credential)) {
    const absl::Status valid = RequireValid(*member, statement->tls_key);
    if (MayRenew(valid, member->certificate)) {
      return LinkParty::kApplicant;
    }
    RETURN_IF_ERROR(valid);
    return LinkParty::kMember;
  }
  const MutexLock lock(mutex_);
  if (knows_token_ == nullptr) {
    return Refused(reasons::kTokenInvalid,
                   "a node wants to join here, but the cluster authority's key is on another node");
  }
  if (!knows_token_(std::get<privacy::ApplicantCredential>(credential), statement->tls_key)) {
    return Refused(reasons::kTokenInvalid, "a node wants to join with a token that is not known");
  }
  return LinkParty::kApplicant;
}

absl::Status LinkGate::RequireMember(std::string_view pem) {
  ASSIGN_OR_RETURN(const LinkParty party, Judge(pem));
  return party == LinkParty::kMember
             ? absl::OkStatus()
             : Refused(reasons::kCertificateInvalid,
                       "the node that answers is no member of the cluster; check the address");
}

absl::Status LinkGate::Admit(std::string_view pem) {
  absl::Status judged = Judge(pem).status();
  if (judged.ok()) {
    return judged;
  }
  const std::string reason = ReasonOf(judged);
  const MutexLock lock(mutex_);
  ++refusals_[reason];
  if (const auto left_out = lines_.Admit(reason)) {
    LogInfo("the port for peers refused a caller: {} [{}]{}", MessageOf(judged), reason,
            LeftOut(*left_out));
  }
  return judged;
}

LinkGate::Refusals LinkGate::refusals() const {
  const MutexLock lock(mutex_);
  return refusals_;
}

}  // namespace ruvd::admission
