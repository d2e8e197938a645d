// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/kept_trust.h"

#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::sharing {
namespace {

constexpr Duration kStaleCheck = std::chrono::minutes(10);

void LogTrustFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

}  // namespace

absl::StatusOr<federation::Actions> KeptTrust::Restore(federation::GossipCore& core,
                                                       federation::Instant now) const {
  ASSIGN_OR_RETURN(const privacy::RevocationList revocations, store_.load_revocations());
  federation::Actions actions;
  if (absl::StatusOr<federation::Actions> taken = core.SetRevocations(revocations, now);
      taken.ok()) {
    actions = *std::move(taken);
  } else {
    LogTrustFailure("the stored revocation list is not valid", taken.status());
  }
  const auto evidence = store_.load_evidence();
  LogTrustFailure("the stored evidence could not be read", evidence.status());
  if (evidence.ok()) {
    federation::Actions restored = core.RestoreEvidence(*evidence, now);
    std::move(restored.begin(), restored.end(), std::back_inserter(actions));
  }
  return actions;
}

void KeptTrust::Keep(const privacy::RevocationList& list) const {
  LogWarning("list {} of the cluster's authority revokes {} node(s)", list.number,
             list.nodes.size());
  LogTrustFailure("the revocation list could not be stored", store_.keep_revocations(list));
}

void KeptTrust::KeepEvidence(const federation::GossipCore& core) const {
  LogTrustFailure("evidence of an equivocation could not be stored",
                  store_.keep_evidence(core.Evidence()));
}

void KeptTrust::SayIfStale(const federation::GossipCore& core, federation::Instant now) {
  if (now.now < next_check_) {
    return;
  }
  next_check_ = now.now + kStaleCheck;
  if (const absl::Status fresh = core.RevocationsFresh(now); !fresh.ok()) {
    LogWarning("no new links: {} [{}]", MessageOf(fresh), ReasonOf(fresh));
  }
}

}  // namespace ruvd::sharing
