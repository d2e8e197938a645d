// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "federation/core/gossip_core.h"
#include "privacy/identity/revocation_list.h"
#include "storage/state/state_store.h"

namespace ruvd::sharing {

// The store for nodes that must not be trusted: the cluster's revocation list, proofs of members
// that equivocated (GossipCore::Evidence), and scores of peers (GossipCore::Scores).
struct TrustStore {
  std::function<absl::StatusOr<privacy::RevocationList>()> load_revocations;
  std::function<absl::Status(const privacy::RevocationList&)> store_revocations;
  std::function<absl::StatusOr<std::vector<std::string>>()> load_evidence;
  std::function<absl::Status(const std::vector<std::string>&)> store_evidence;
  std::function<absl::StatusOr<federation::KeptScores>()> load_scores;
  std::function<absl::Status(const federation::KeptScores&)> store_scores;
};

// Proofs of members that equivocated, in the node's state. Without them a liar would be linked
// again after a restart until a peer sends the proofs. Returns the proofs, unchecked, or an empty
// list; EVIDENCE_INVALID for too many of them or for other lengths, and the errors of
// StateStore::Get.
absl::StatusOr<std::vector<std::string>> LoadEvidence(const storage::StateStore& state);
absl::StatusOr<std::vector<std::string>> FromStored(storage::v1::EquivocationProofs stored);
// Replaces the proofs. Returns the errors of StateStore::Put.
absl::Status StoreEvidence(storage::StateStore& state, const std::vector<std::string>& proofs);

// Scores of peers, in the node's state: one row of at most 40 KB. Without them a peer that is kept
// out would be linked again after a restart. Returns what was stored, or nothing; STORE_CORRUPT for
// more than kMaxScores of either kind, ids of other lengths, or counts that are negative or not
// finite; and the errors of StateStore::Get.
absl::StatusOr<federation::KeptScores> LoadScores(const storage::StateStore& state);
absl::StatusOr<federation::KeptScores> FromStored(const storage::v1::PeerScores& stored);
// Replaces the scores. Returns the errors of StateStore::Put.
absl::Status StoreScores(storage::StateStore& state, const federation::KeptScores& scores);
storage::v1::PeerScores ToStored(const federation::KeptScores& scores);

// Loads this data into a gossip core and stores what the core learns. Failures are logged. Not
// thread-safe.
class TrustRecords {
 public:
  explicit TrustRecords(TrustStore store) : store_(std::move(store)) {}

  // Call this right after the core was created. Returns an error if the revocation list cannot be
  // loaded, because no node may be linked without it. Evidence that cannot be loaded is learned
  // again from peers, and scores come about anew.
  absl::StatusOr<federation::Actions> Restore(federation::GossipCore& core,
                                              federation::Instant now) const;
  // Gives the core a revocation list, or if there is one, a statement of the root about an issuer.
  static absl::StatusOr<federation::Actions> Take(federation::GossipCore& core,
                                                  const privacy::RevocationList& list,
                                                  const std::optional<privacy::IssuerCert>& issuer,
                                                  federation::Instant now) {
    return issuer ? core.LearnIssuer(*issuer, now) : core.SetRevocations(list, now);
  }
  // Stores what an action is about, if it is about nodes that must not be trusted. Returns whether
  // a member may have been expelled by it.
  bool Store(const federation::Action& action, const federation::GossipCore& core,
             federation::Instant now) const;
  // Logs from time to time that the newest list is too old for new links, if it is.
  void LogIfRevocationListStale(const federation::GossipCore& core, federation::Instant now);

 private:
  void StoreRevocations(const privacy::RevocationList& list) const;

  const TrustStore store_;
  TimePoint next_check_{};
};

}  // namespace ruvd::sharing
