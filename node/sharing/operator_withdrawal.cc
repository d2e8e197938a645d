// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/operator_withdrawal.h"

#include <google/protobuf/util/time_util.h>

#include "base/status.h"
#include "node/log/log.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::sharing {

absl::StatusOr<privacy::v1::SetConsentResponse> OperatorWithdrawal::Store() {
  const auto record =
      privacy::ConsentRecord::Sign(privacy::ConsentTier::kPrivate, clock_.WallMillis(), key_);
  const absl::Status stored = consent_.Set(record);
  SetUnstored(!stored.ok());
  if (!stored.ok()) {
    return Annotate(stored,
                    "nothing is shared until the node restarts, but the withdrawal could not be "
                    "stored; repeat it once the store takes writes again");
  }
  privacy::v1::SetConsentResponse answer;
  answer.set_tier(privacy::v1::SHARING_TIER_PRIVATE);
  *answer.mutable_since() =
      google::protobuf::util::TimeUtil::MillisecondsToTimestamp(record.since_ms);
  answer.set_residual(
      "the withdrawal is stored; peers keep what this node offered until it federates again and "
      "tells them");
  return answer;
}

absl::StatusOr<std::optional<privacy::ConsentRecord>> OperatorWithdrawal::LoadConsent() {
  if (unstored_.load()) {
    if (const absl::Status stored = Store().status(); !stored.ok()) {
      LogError("sharing stays off: {} [{}]", MessageOf(stored), ReasonOf(stored));
      return std::nullopt;
    }
  }
  ASSIGN_OR_RETURN(const bool suspended, consent_.IsSuspended());
  if (suspended) {
    LogWarning(
        "sharing stays off: this store was restored from a backup, and it is not known which "
        "consents were withdrawn after that; withdraw them again, then use `ruvd consent grant`");
    return std::nullopt;
  }
  return consent_.Get();
}

}  // namespace ruvd::sharing
