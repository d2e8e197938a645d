// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/release_messages.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/sharing/refusal.h"
#include "privacy/limits.h"

namespace ruvd::api {
privacy::ResidualPrivacy ResidualOf(const sharing::FederationView& view) {
  privacy::ResidualPrivacy residual{.releases = view.release->releases(),
                                    .epsilon = view.release->spent_epsilon(),
                                    .delta = view.release->delta(),
                                    .plain = view.plain_shared,
                                    .sums = view.release->sums()};
  if (view.centroids && view.centroids->releases() > 0) {
    residual.releases += view.centroids->releases();
    residual.epsilon = view.centroids->spent_epsilon();  // includes the cost of updates
  }
  return residual;
}

std::string ResidualText(const sharing::FederationView& view) {
  const privacy::ResidualPrivacy residual = ResidualOf(view);
  if (view.release->unknown().empty()) {
    return ResidualStatement(residual);
  }
  return fmt::format("It is not known what left this node with noise: {} [{}].{}",
                     view.release->unknown(), view.release->unknown_reason(),
                     residual.plain ? " " + privacy::ResidualStatement({.plain = true}) : "");
}

void WriteUserConsent(const privacy::UserConsent& record, admin::v1::UserConsent* message) {
  if (record.subject.kind == privacy::ConsentSubject::Kind::kUser) {
    message->set_user_id(record.subject.id);
  } else {
    message->set_session_id(record.subject.id);
  }
  message->set_training((record.purposes & privacy::consent_purposes::kTraining) != 0);
  message->set_sharing((record.purposes & privacy::consent_purposes::kSharing) != 0);
  message->set_widest(static_cast<pattern::v1::SharingTier>(record.widest));
  message->set_granted_ms(record.granted_ms);
  message->set_expires_ms(record.expires_ms);
}

// Times are relative to 0, because ConsentBook counts from the moment that the record is stored. A
// withdrawal has the longest time that a record may have; after its end nothing is allowed either.
absl::StatusOr<privacy::UserConsent> ReadUserConsent(
    const admin::v1::SetUserConsentRequest& request) {
  constexpr int64_t kDayMillis = 24LL * 3600 * 1000;
  if (request.subject_case() == admin::v1::SetUserConsentRequest::SUBJECT_NOT_SET) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a consent must name a user or a session; give one of them");
  }
  const bool withdrawn = !request.training() && !request.sharing();
  const int64_t lasts_ms = withdrawn ? limits::kMaxConsentMillis : request.days() * kDayMillis;
  if (lasts_ms <= 0 || lasts_ms > limits::kMaxConsentMillis) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a consent must be valid for 1 to {} days, not for {}",
                 limits::kMaxConsentMillis / kDayMillis, request.days());
  }
  const bool of_user = request.has_user_id();
  return privacy::UserConsent{
      .subject = {.kind = of_user ? privacy::ConsentSubject::Kind::kUser
                                  : privacy::ConsentSubject::Kind::kSession,
                  .id = of_user ? request.user_id() : request.session_id()},
      .purposes =
          static_cast<uint8_t>((request.training() ? privacy::consent_purposes::kTraining : 0) |
                               (request.sharing() ? privacy::consent_purposes::kSharing : 0)),
      .widest = withdrawn ? privacy::ConsentTier::kPrivate
                          : static_cast<privacy::ConsentTier>(request.widest()),
      .granted_ms = 0,
      .expires_ms = lasts_ms};
}

void WritePeer(const federation::PeerRecord& peer, admin::v1::PeerEffect* message) {
  message->set_node_id(ToHex(peer.origin));
  message->set_members(static_cast<uint32_t>(peer.members));
  message->set_norm(peer.norm);
  sharing::WriteRefusal(peer.refused, message);
  message->set_reputation(peer.reputation);
  message->set_examples(peer.examples);
  if (!peer.refused.ok()) {
    return;
  }
  for (const federation::BankEffect& bank : peer.banks) {
    auto* const effect = message->add_banks();
    effect->set_coverage(bank.coverage);
    effect->set_weight(bank.weight);
    effect->set_norm(bank.norm);
    effect->set_distance(bank.distance);
    effect->set_cosine(bank.cosine);
    effect->set_gain(bank.alone.gain);
    effect->set_standard_error(bank.alone.standard_error);
    effect->set_documents(static_cast<uint32_t>(bank.alone.documents));
  }
  if (!peer.banks.empty()) {
    message->set_weight(peer.banks[0].weight);
    message->set_distance(peer.banks[0].distance);
    message->set_cosine(peer.banks[0].cosine);
  }
}

void WriteRound(const sharing::FederatedOutcome& round, const std::vector<float>& boundaries,
                admin::v1::FederatedRound* message) {
  message->set_round(round.round);
  message->set_judges(static_cast<uint32_t>(round.evaluation_lessons));
  message->mutable_boundaries()->Assign(boundaries.begin(), boundaries.end());
  message->set_general_loss(round.general_loss);
  message->set_unfinished(round.unfinished);
  for (const sharing::BankOutcome& bank : round.banks) {
    auto* const outcome = message->add_banks();
    outcome->set_verdict(std::string(federation::BankVerdictName(bank.verdict)));
    outcome->set_contributors(static_cast<uint32_t>(bank.contributors));
    outcome->set_gain(bank.score.gain);
    outcome->set_standard_error(bank.score.standard_error);
    outcome->set_documents(static_cast<uint32_t>(bank.score.documents));
    outcome->set_general_loss(bank.score.general_loss);
  }
}

}  // namespace ruvd::api
