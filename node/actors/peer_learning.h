// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/federation.h"
#include "node/sharing/own_patterns.h"
#include "privacy/consent/consent.h"

namespace ruvd::actors {

// What the federation actor does with a cluster besides patterns: how this node's lessons reach an
// adapter of all nodes, and how that adapter is served here. It belongs to one life of the actor
// and is not thread-safe.
class PeerLearning {
 public:
  using Context = runtime::ActorContext<GossipMessage>;
  // Performs actions of the core.
  using Perform = std::function<void(federation::Actions actions, Context& context)>;

  virtual ~PeerLearning() = default;

  // Reads what was kept from before the restart; called before any other method. Returns the
  // errors of the stores.
  virtual absl::Status Restore() = 0;
  // All stored items are in the core.
  virtual void OnRestored(const federation::GossipCore& core, Context& context) = 0;

  // The actor passes on the events of the core. Items of other kinds have no effect.
  virtual void OnItem(const federation::Item& item) = 0;
  virtual void OnDropped(const federation::ItemDropped& dropped) = 0;
  virtual void OnWithdrawn(const federation::Item& item) = 0;
  // Leaves out members that are not in good standing.
  virtual void ExcludeExpelled(const federation::GossipCore& core) = 0;
  // All actions of one call of the core were performed.
  virtual void OnPerformed(Context& context) = 0;

  // Begins what is due. `consent_since_ms` is when the operator chose the tier.
  virtual void OnTick(federation::GossipCore& core, int64_t consent_since_ms, Context& context) = 0;
  // Consents or lessons are changing: what is being made now may contain what is withdrawn.
  virtual void OnSharingChanged() = 0;
  // The operator's consent is stored, and the core follows it.
  virtual void OnConsent(federation::GossipCore& core, Context& context) = 0;
  // Lessons were withdrawn or erased: takes back what may contain them.
  virtual void OnLessonsWithdrawn(federation::GossipCore& core, Context& context) = 0;

  // Returns why a release under this tier cannot be shown before it is made.
  virtual absl::Status CheckPreview(privacy::ConsentTier tier) const = 0;
  virtual void Describe(sharing::FederationView* view) = 0;
};

// Tells the release how many members count now.
void CountContributors(const federation::GossipCore& core, sharing::DpRelease& release);

// Returns the rounds of the cluster if the options have them (RoundLearning), else the exchange of
// updates of patterns' cores (UpdateLearning). Everything borrowed must outlive the result;
// `newest` returns the newest update of every node.
std::unique_ptr<PeerLearning> MakePeerLearning(
    const FederationActorOptions& options, sharing::OwnPatterns& own, PeerLearning::Perform perform,
    std::function<std::vector<federation::Item>()> newest);

}  // namespace ruvd::actors
