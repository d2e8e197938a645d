// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The members that GossipCore keeps out: those that are known to have equivocated, and peers whose
// score fell too low.

#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"
#include "federation/membership/score_limits.h"
#include "federation/reasons.h"
#include "privacy/envelope/equivocation.h"
#include "privacy/reasons.h"

namespace ruvd::federation {

void GossipCore::State::CloseGraylisted(Link& link, Instant now) {
  CloseWithGoaway(
      link,
      Error(absl::StatusCode::kPermissionDenied, reasons::kGraylisted,
            "this node refuses links of the member because of its behaviour; see its log"),
      now);
}

bool GossipCore::State::CloseIfGraylisted(LinkId id, Instant now) {
  const auto found = links.find(id);
  if (found == links.end() || !found->second.active || !scores.Graylisted(found->second.peer)) {
    return false;
  }
  ++outbox.counters().graylistings;
  CloseGraylisted(found->second, now);
  return true;
}

void GossipCore::State::TickGraylist(Instant now) {
  scores.Tick(now.now);
  const Duration since = scores_stored ? now.now - *scores_stored : Duration::max();
  if (since >= limits::kScoresStorePeriod ||
      (since >= limits::kScoresStoreGap && scores.newly_graylisted())) {
    StoreScores(now);
  }
  evidence.Expire(now.wall_ms);
  RetryEvidence(now);
}

void GossipCore::State::StoreScores(Instant now) {
  if (scores.empty() && !scores_in_store) {
    return;
  }
  scores_in_store = !scores.empty();
  scores_stored = now.now;
  scores.ClearNewlyGraylisted();
  outbox.Emit(ScoresChanged{});
}

absl::Status GossipCore::State::OnEvidence(Link& link, const v1::Evidence& message, Instant now) {
  if (static_cast<size_t>(message.proofs_size()) > limits::kMaxProofsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "frame has {} proofs where {} are allowed; update the sending node",
                 message.proofs_size(), limits::kMaxProofsPerFrame);
  }
  const LinkId from = link.id;
  absl::Status status;
  for (const auto& proof : message.proofs()) {
    if (status.ok()) {
      status = ApplyEvidence(proof, from, now);
      if (!links.contains(from)) {
        return absl::OkStatus();  // the proof was about the peer itself
      }
    }
    // The proofs after the first one that found no time were not checked either, so they wait, too.
    if (ReasonOf(status) == reasons::kBusy) {
      KeepProof(from, proof);
    }
  }
  // Stops at an invalid proof, because each check costs three signatures.
  return status;
}

void GossipCore::State::KeepProof(LinkId from, const v1::EquivocationProof& proof) {
  if (proof.equivocation().size() != privacy::Equivocation::kBytes ||
      proof.certificate().size() != privacy::AdmissionCert::kBytes) {
    return;
  }
  v1::EquivocationProof known;  // without fields that this program does not know
  known.set_equivocation(proof.equivocation());
  known.set_certificate(proof.certificate());
  evidence_backlog.Add(from, known);
}

absl::Status GossipCore::State::ApplyEvidence(const v1::EquivocationProof& proof, LinkId from,
                                              Instant now) {
  privacy::NodeId id{};
  const auto applied = evidence.Apply(proof, now, &id);
  const std::string reason = ReasonOf(applied.status());
  if (reason == reasons::kNodeRevoked || reason == reasons::kKeyEpochRefused) {
    return absl::OkStatus();  // messages of a revoked member, or of its former key, have no effect
  }
  RETURN_IF_ERROR(applied.status());
  if (*applied == EvidenceTable::ApplyResult::kKnown) {
    ++outbox.counters().duplicates;
  }
  ActOnEvidence(id, *applied, from, now);
  return absl::OkStatus();
}

// The link that sent a proof pays for its check, as when the proof arrived.
void GossipCore::State::RetryEvidence(Instant now) {
  for (const LinkId from : evidence_backlog.links()) {
    certificates.budget().Charge(from, /*awaited=*/false, now.now);
    while (auto proof = evidence_backlog.Take(from)) {
      const absl::Status status = ApplyEvidence(*proof, from, now);
      if (ReasonOf(status) == reasons::kBusy) {
        evidence_backlog.PutBack(from, *std::move(proof));
        break;
      }
      if (!status.ok()) {
        evidence_backlog.LinkDown(from);
        Refuse(links.at(from), status, now);
      }
    }
    certificates.budget().Charge(/*link=*/0, /*awaited=*/false, now.now);
  }
}

void GossipCore::State::Convict(const std::vector<Conviction>& convictions, Instant now) {
  for (const Conviction& conviction : convictions) {
    const auto applied = evidence.Add(conviction, now);
    if (applied.ok()) {  // otherwise both messages have expired, or their certificate has
      ActOnEvidence(conviction.equivocation.sender(), *applied, /*except=*/0, now);
    }
  }
}

void GossipCore::State::ActOnEvidence(const privacy::NodeId& id, EvidenceTable::ApplyResult applied,
                                      LinkId except, Instant now) {
  if (applied == EvidenceTable::ApplyResult::kOwn && !std::exchange(own_evidence_reported, true)) {
    outbox.Refuse(
        /*link=*/0,
        Error(absl::StatusCode::kFailedPrecondition, reasons::kEquivocation,
              "peers have proof that this node signed two messages under one number; its key is in "
              "use twice, or its store was restored from a backup: give it a new key"));
  }
  if (applied != EvidenceTable::ApplyResult::kNew) {
    return;
  }
  ++outbox.counters().convictions;
  outbox.Emit(EvidenceChanged{});
  exchange.Expel(id);
  WireFrame frame;
  *frame.mutable_evidence()->add_proofs() = evidence.ProofOf(id);
  const auto shared = std::make_shared<const WireFrame>(std::move(frame));
  for (const auto& [peer, link] : link_of) {
    if (link != except && peer != id) {
      outbox.Send(link, shared);
    }
  }
  if (IsLinked(id)) {
    CloseGraylisted(links.at(link_of.at(id)), now);
  }
}

void GossipCore::State::SendEvidence(const Link& link, std::span<const privacy::NodeId> about) {
  WireFrame frame;
  for (const privacy::NodeId& id : about) {
    *frame.mutable_evidence()->add_proofs() = evidence.ProofOf(id);
    if (static_cast<size_t>(frame.evidence().proofs_size()) == limits::kMaxProofsPerFrame) {
      outbox.Send(link.id, std::exchange(frame, {}));
    }
  }
  if (frame.evidence().proofs_size() > 0) {
    outbox.Send(link.id, std::move(frame));
  }
}

}  // namespace ruvd::federation
