// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/trust_records.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "federation/limits.h"
#include "federation/membership/evidence.h"
#include "node/log/log.h"
#include "privacy/reasons.h"
#include "ruvd/storage/v1/state.pb.h"

namespace ruvd::sharing {
namespace {

constexpr Duration kStaleCheck = std::chrono::minutes(10);

void LogTrustFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LoadEvidence(const storage::StateStore& state) {
  ASSIGN_OR_RETURN(auto stored, state.Get(storage::state::EquivocationProofs()));
  return stored ? FromStored(*std::move(stored)) : std::vector<std::string>();
}

absl::StatusOr<std::vector<std::string>> FromStored(storage::v1::EquivocationProofs stored) {
  const auto fits = [](const std::string& proof) {
    return proof.size() == federation::EvidenceTable::kStoredBytes;
  };
  if (static_cast<size_t>(stored.proofs_size()) > limits::kMaxEvidence ||
      !std::ranges::all_of(stored.proofs(), fits)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kEvidenceInvalid,
                 "the stored proofs of equivocations are damaged; peers send them again");
  }
  return std::vector<std::string>(std::make_move_iterator(stored.mutable_proofs()->begin()),
                                  std::make_move_iterator(stored.mutable_proofs()->end()));
}

absl::Status StoreEvidence(storage::StateStore& state, const std::vector<std::string>& proofs) {
  storage::v1::EquivocationProofs stored;
  stored.mutable_proofs()->Add(proofs.begin(), proofs.end());
  return state.Put(storage::state::EquivocationProofs(), stored);
}

absl::StatusOr<federation::Actions> TrustRecords::Restore(federation::GossipCore& core,
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

void TrustRecords::StoreRevocations(const privacy::RevocationList& list) const {
  // The authority signs the list again every few hours, mostly without a change.
  Log(list.nodes.empty() ? LogLevel::kInfo : LogLevel::kWarning,
      "list {} of the cluster's issuer {} revokes {} node(s)", list.edition(), list.issuer.number,
      list.nodes.size());
  LogTrustFailure("the revocation list could not be stored", store_.store_revocations(list));
}

void TrustRecords::StoreEvidence(const federation::GossipCore& core) const {
  LogTrustFailure("evidence of an equivocation could not be stored",
                  store_.store_evidence(core.Evidence()));
}

void TrustRecords::LogIfRevocationListStale(const federation::GossipCore& core,
                                            federation::Instant now) {
  if (now.now < next_check_) {
    return;
  }
  next_check_ = now.now + kStaleCheck;
  if (const absl::Status fresh = core.RevocationsFresh(now); !fresh.ok()) {
    LogWarning("no new links: {} [{}]", MessageOf(fresh), ReasonOf(fresh));
  }
}

}  // namespace ruvd::sharing
