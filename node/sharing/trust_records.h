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

// The store for nodes that must not be trusted: the cluster's revocation list, and proofs of
// members that equivocated (GossipCore::Evidence).
struct TrustStore {
  std::function<absl::StatusOr<privacy::RevocationList>()> load_revocations;
  std::function<absl::Status(const privacy::RevocationList&)> store_revocations;
  std::function<absl::StatusOr<std::vector<std::string>>()> load_evidence;
  std::function<absl::Status(const std::vector<std::string>&)> store_evidence;
};

// Proofs of members that equivocated, in the node's state. Without them a liar would be linked
// again after a restart until a peer sends the proofs. Returns the proofs, unchecked, or an empty
// list; EVIDENCE_INVALID for too many of them or for other lengths, and the errors of
// StateStore::Get.
absl::StatusOr<std::vector<std::string>> LoadEvidence(const storage::StateStore& state);
absl::StatusOr<std::vector<std::string>> FromStored(storage::v1::EquivocationProofs stored);
// Replaces the proofs. Returns the errors of StateStore::Put.
absl::Status StoreEvidence(storage::StateStore& state, const std::vector<std::string>& proofs);

// Loads this data into a gossip core and stores what the core learns. Failures are logged. Not
// thread-safe.
class TrustRecords {
 public:
  explicit TrustRecords(TrustStore store) : store_(std::move(store)) {}

  // Call this right after the core was created. Returns an error if the revocation list cannot be
  // loaded, because no node may be linked without it. Evidence that cannot be loaded is learned
  // again from peers.
  absl::StatusOr<federation::Actions> Restore(federation::GossipCore& core,
                                              federation::Instant now) const;
  // Gives the core a revocation list, or if there is one, a statement of the root about an issuer.
  static absl::StatusOr<federation::Actions> Take(federation::GossipCore& core,
                                                  const privacy::RevocationList& list,
                                                  const std::optional<privacy::IssuerCert>& issuer,
                                                  federation::Instant now) {
    return issuer ? core.LearnIssuer(*issuer, now) : core.SetRevocations(list, now);
  }
  void StoreRevocations(const privacy::RevocationList& list) const;
  void StoreEvidence(const federation::GossipCore& core) const;
  // Logs from time to time that the newest list is too old for new links, if it is.
  void LogIfRevocationListStale(const federation::GossipCore& core, federation::Instant now);

 private:
  const TrustStore store_;
  TimePoint next_check_{};
};

}  // namespace ruvd::sharing
