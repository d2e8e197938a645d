// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>

#include "federation/core/gossip_core.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/peer_patterns.h"
#include "node/sharing/use_ratings.h"
#include "privacy/identity/node_key.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::actors {

// The federation actor's part in the trials of peers' patterns: one after the other is judged on
// the learning pool, and ratings of completions drop what users dislike. It belongs to one life of
// the actor. Not thread-safe.
class PatternTrials {
 public:
  using Context = runtime::ActorContext<GossipMessage>;

  // Everything that `options` point to, and `patterns`, must outlive this object.
  PatternTrials(const FederationActorOptions& options, sharing::PeerPatterns& patterns)
      : options_(options), patterns_(patterns) {}

  // All stored items are in the core, and `patterns` is loaded. Stores items that were not stored
  // before the restart, and counts the stored ratings.
  void OnRestored(const federation::GossipCore& core);
  // Begins the next trial if none runs, and stores patterns that waited for room.
  void OnTick(const federation::GossipCore& core, Context& context);
  void OnRated(const sharing::RatedUse& use);
  // Returns the state of the exchange of patterns with every peer that offers some.
  std::map<privacy::NodeId, cluster::v1::PeerPatternStatus> View(
      const federation::GossipCore& core) const;

 private:
  void Begin(Context& context);

  const FederationActorOptions& options_;
  sharing::PeerPatterns& patterns_;
  bool running_ = false;
};

}  // namespace ruvd::actors
