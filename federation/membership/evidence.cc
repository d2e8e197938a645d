// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/evidence.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

// Where the sender, its key epoch, boot id and seq are in an envelope header (docs/wire-format.md)
constexpr size_t kNumberAt = 48;
constexpr size_t kNumberBytes = sizeof(privacy::NodeId) + 4 + 16 + 8;

bool SameNumber(std::string_view a, std::string_view b) {
  return a.size() == privacy::kEnvelopeHeaderBytes && b.size() == privacy::kEnvelopeHeaderBytes &&
         a.substr(kNumberAt, kNumberBytes) == b.substr(kNumberAt, kNumberBytes);
}

}  // namespace

std::optional<privacy::Equivocation> EquivocationOf(const privacy::Envelope& one,
                                                    const privacy::Envelope& other) {
  if (!SameNumber(one.header, other.header) || one.header == other.header) {
    return std::nullopt;
  }
  const privacy::Envelope& first = one.header < other.header ? one : other;
  const privacy::Envelope& second = one.header < other.header ? other : one;
  return privacy::Equivocation{.first_header = first.header,
                               .first_signature = first.signature,
                               .second_header = second.header,
                               .second_signature = second.signature};
}

absl::StatusOr<EvidenceTable::ApplyResult> EvidenceTable::Apply(const v1::EquivocationProof& proof,
                                                                Instant now, privacy::NodeId* id) {
  ASSIGN_OR_RETURN(const privacy::Equivocation equivocation,
                   privacy::Equivocation::Parse(AsBytes(proof.equivocation())));
  const privacy::NodeId sender = equivocation.sender();
  if (IsConvicted(sender)) {
    *id = sender;
    return ApplyResult::kKnown;  // decided before any signature is checked
  }
  if (proof.certificate().size() > privacy::AdmissionCert::kBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEvidenceInvalid,
                 "evidence comes with a certificate of {} bytes; update the sending node",
                 proof.certificate().size());
  }
  RETURN_IF_ERROR(certificates_->TakeCheck());
  ASSIGN_OR_RETURN(const privacy::AdmissionCert* found,
                   certificates_->Admit(AsBytes(proof.certificate()), now.wall_ms));
  const privacy::AdmissionCert certificate = *found;
  if (certificate.node_id != sender) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEvidenceInvalid,
                 "evidence comes with the certificate of {}, which did not sign it; update the "
                 "sending node",
                 certificate.name);
  }
  RETURN_IF_ERROR(equivocation.Verify(certificate.node_key));
  ASSIGN_OR_RETURN(const ApplyResult applied,
                   Insert(equivocation, proof.certificate(), certificate.not_after_ms, now));
  *id = sender;
  return applied;
}

absl::StatusOr<EvidenceTable::ApplyResult> EvidenceTable::Add(const Conviction& conviction,
                                                              Instant now) {
  if (IsConvicted(conviction.equivocation.sender())) {
    return ApplyResult::kKnown;
  }
  ASSIGN_OR_RETURN(const privacy::AdmissionCert* certificate,
                   certificates_->Admit(AsBytes(conviction.certificate), now.wall_ms));
  return Insert(conviction.equivocation, conviction.certificate, certificate->not_after_ms, now);
}

absl::StatusOr<EvidenceTable::ApplyResult> EvidenceTable::Insert(
    const privacy::Equivocation& equivocation, std::string certificate, int64_t not_after_ms,
    Instant now) {
  ASSIGN_OR_RETURN(const privacy::EnvelopeHeader first,
                   privacy::ParseHeader(AsBytes(equivocation.first_header)));
  ASSIGN_OR_RETURN(const privacy::EnvelopeHeader second,
                   privacy::ParseHeader(AsBytes(equivocation.second_header)));
  // One key may be used in two clusters, and their stores count boots separately.
  if (first.cluster_id != local_->cluster_id || second.cluster_id != local_->cluster_id) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kWrongCluster,
                 "evidence is about messages to another cluster; it proves nothing in this one");
  }
  // The headers are not trusted, so the bound is applied before anything is added.
  const int64_t over_ms = std::min(std::max(first.expires_ms, second.expires_ms), not_after_ms);
  const int64_t expires_ms = std::min(over_ms + limits::kEvidenceLifeMillis, not_after_ms);
  if (expires_ms <= now.wall_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kEnvelopeExpired,
                 "evidence is about messages that expired long ago; it has no effect");
  }
  if (first.sender_id == local_->key->id()) {
    return ApplyResult::kOwn;
  }
  if (proofs_.size() >= limits::kMaxEvidence) {
    // The proof that expires first makes room, or is refused; if it were accepted and passed on, it
    // would circulate endlessly.
    const auto first_over = std::ranges::min_element(
        proofs_, {}, [](const auto& entry) { return entry.second.expires_ms; });
    if (expires_ms <= first_over->second.expires_ms) {
      return ApplyResult::kKnown;
    }
    proofs_.erase(first_over);
  }
  proofs_[first.sender_id] = {.certificate = std::move(certificate),
                              .equivocation = equivocation.Encode(),
                              .expires_ms = expires_ms};
  next_expiry_ms_ = std::min(next_expiry_ms_, expires_ms);
  return ApplyResult::kNew;
}

bool EvidenceTable::DropOfEndedIssuers() {
  return std::erase_if(proofs_, [this](const auto& entry) {
           const auto certificate =
               privacy::AdmissionCert::Parse(AsBytes(entry.second.certificate));
           return certificate.ok() && certificate->issuer.number < certificates_->least_issuer();
         }) > 0;
}

void EvidenceTable::Expire(int64_t wall_ms) {
  if (wall_ms < next_expiry_ms_) {
    return;
  }
  std::erase_if(proofs_,
                [wall_ms](const auto& entry) { return entry.second.expires_ms <= wall_ms; });
  next_expiry_ms_ = std::numeric_limits<int64_t>::max();
  for (const auto& [id, proof] : proofs_) {
    next_expiry_ms_ = std::min(next_expiry_ms_, proof.expires_ms);
  }
}

absl::StatusOr<EvidenceTable::ApplyResult> EvidenceTable::Restore(std::string_view stored,
                                                                  Instant now,
                                                                  privacy::NodeId* id) {
  if (stored.size() != kStoredBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEvidenceInvalid,
                 "stored evidence has {} bytes instead of {}; it is learned again from peers",
                 stored.size(), kStoredBytes);
  }
  v1::EquivocationProof proof;
  proof.set_certificate(std::string(stored.substr(0, privacy::AdmissionCert::kBytes)));
  proof.set_equivocation(std::string(stored.substr(privacy::AdmissionCert::kBytes)));
  return Apply(proof, now, id);
}

std::vector<std::string> EvidenceTable::Stored() const {
  std::vector<std::string> stored;
  stored.reserve(proofs_.size());
  for (const auto& [id, proof] : proofs_) {
    stored.push_back(proof.certificate + proof.equivocation);
  }
  return stored;
}

v1::EquivocationProof EvidenceTable::ProofOf(const privacy::NodeId& id) const {
  const Proof& proof = proofs_.at(id);
  v1::EquivocationProof proto;
  proto.set_certificate(proof.certificate);
  proto.set_equivocation(proof.equivocation);
  return proto;
}

std::vector<privacy::NodeId> EvidenceTable::Members() const {
  std::vector<privacy::NodeId> members;
  members.reserve(proofs_.size());
  for (const auto& [id, proof] : proofs_) {
    members.push_back(id);
  }
  return members;
}

}  // namespace ruvd::federation
