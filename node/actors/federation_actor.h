// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/executor.h"
#include "federation/core/gossip_core.h"
#include "federation/limits.h"
#include "node/learning/learning_services.h"
#include "node/learning/learning_throttle.h"
#include "node/runtime/actor_system.h"
#include "node/serving/adapter_source.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/federated_model.h"
#include "node/sharing/federation.h"
#include "node/sharing/kept_trust.h"
#include "node/sharing/masked_means.h"
#include "storage/consent/consent_book.h"
#include "storage/consent/consent_store.h"
#include "storage/consent/release_source_store.h"
#include "storage/consent/withdrawal_store.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::actors {

struct FederationActorOptions {
  federation::GossipConfig gossip;  // its boot counter comes from next_boot
  // Raises the durable boot counter.
  std::function<absl::StatusOr<uint64_t>()> next_boot;
  // The newest certificate of this node, for an actor that is started again; null: that of
  // `gossip`.
  std::function<privacy::AdmissionCert()> certificate;
  const privacy::NodeKey* key = nullptr;
  const Clock* clock = nullptr;
  storage::ItemStore* items = nullptr;
  storage::PatternStore* patterns = nullptr;
  storage::ConsentStore* consent = nullptr;
  storage::WithdrawalStore* withdrawals = nullptr;  // null: what is taken back is not noted
  storage::ReleaseSourceStore* releases =
      nullptr;  // null: who is in an update is forgotten with a restart
  const storage::ConsentBook* consents = nullptr;  // of users and sessions
  sharing::DpRelease* release = nullptr;           // used by this actor only, but for its View
  sharing::DpCentroids* centroids = nullptr;       // as `release`; null: no noised centroids leave
  uint32_t public_examples = 1;                    // of a pattern that leaves or is taken, at least
  float pattern_quality = 0;                       // that a peer's pattern claims, at least
  serving::AdapterSource* adapters = nullptr;
  // The global adapter and what its rounds work with; used on `learning_pool` only, one thread.
  sharing::FederatedModel* model = nullptr;
  learning::LearningServices learning;
  learning::LearningThrottle* throttle = nullptr;  // null: rounds give way to nobody
  Executor* learning_pool = nullptr;
  // Starts a link to host:port; ends in OpenLink or OnDialFailed. Set before the first Dial action.
  std::function<void(const std::string&)> dial;
  // An actor that cannot load the revocation list does not start.
  sharing::TrustStore trust;
  // How often a changed delta is offered at most.
  Duration round{};
  // Between the beginnings of masked rounds; and where the means of their sums last.
  Duration masked_period = std::chrono::milliseconds(limits::kMaskedPeriodMillis);
  sharing::MaskedMeansFile masked_means;
};

// Starts the federation actor in `system`. Everything borrowed outlives the system. Errors: what
// GossipCore::Create says of the certificate and key.
absl::StatusOr<std::unique_ptr<sharing::FederationActor>> StartFederationActor(
    runtime::ActorSystem& system, const FederationActorOptions& options);

// The part of a node that does not federate: no links, consent refused with the remedy.
std::unique_ptr<sharing::FederationActor> MakeIsolatedFederation(const Clock& clock);

}  // namespace ruvd::actors
