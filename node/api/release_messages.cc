// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/release_messages.h"

#include <fmt/format.h>

#include "base/status.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "privacy/limits.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::api {

privacy::ResidualPrivacy ResidualOf(const sharing::FederationView& view) {
  return {.releases = view.release->releases(),
          .epsilon = view.release->spent_epsilon(),
          .delta = view.release->delta(),
          .plain = view.plain_shared,
          .sums = view.release->sums()};
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

void WriteUserConsent(const privacy::UserConsent& record, privacy::v1::UserConsent* message) {
  if (record.subject.kind == privacy::ConsentSubject::Kind::kUser) {
    message->set_user_id(record.subject.id);
  } else {
    message->set_session_id(record.subject.id);
  }
  message->set_training((record.purposes & privacy::consent_purposes::kTraining) != 0);
  message->set_sharing((record.purposes & privacy::consent_purposes::kSharing) != 0);
  message->set_widest(static_cast<privacy::v1::SharingTier>(record.widest));
  *message->mutable_grant_time() = ToTimestamp(record.granted_ms);
  *message->mutable_expire_time() = ToTimestamp(record.expires_ms);
}

// Times are relative to 0, because ConsentBook counts from the moment that the record is stored. A
// withdrawal has the longest time that a record may have; after its end nothing is allowed either.
absl::StatusOr<privacy::UserConsent> ReadUserConsent(
    const privacy::v1::SetUserConsentRequest& request) {
  constexpr int64_t kDayMillis = 24LL * 3600 * 1000;
  if (request.subject_case() == privacy::v1::SetUserConsentRequest::SUBJECT_NOT_SET) {
    return BadField("subject", "a consent must name a user or a session; give one of them");
  }
  const bool withdrawn = !request.training() && !request.sharing();
  int64_t lasts_ms = limits::kMaxConsentMillis;
  if (!withdrawn) {
    ASSIGN_OR_RETURN(lasts_ms, ReadDuration("lifetime", request.lifetime()));
  }
  if (lasts_ms <= 0 || lasts_ms > limits::kMaxConsentMillis) {
    return BadField("lifetime", "a consent must be valid for up to {} days, not for {} s",
                    limits::kMaxConsentMillis / kDayMillis, request.lifetime().seconds());
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

}  // namespace ruvd::api
