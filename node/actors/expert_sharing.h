// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"
#include "federation/events/item.h"
#include "federation/instant.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/own_expert.h"
#include "node/sharing/own_patterns.h"
#include "node/sharing/peer_experts.h"
#include "node/sharing/use_ratings.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/node_key.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::actors {

// The federation actor's part in the exchange of experts: it offers this node's deep adapter under
// the tier `public` while all of its lessons may leave, and has the experts of peers judged on the
// learning pool, one after the other. Without options.expert_trial it does nothing. It belongs to
// one life of the actor. Not thread-safe.
class ExpertSharing {
 public:
  using Context = runtime::ActorContext<GossipMessage>;
  // Performs actions of the core.
  using Perform = std::function<void(federation::Actions actions, Context& context)>;

  // Everything that `options` point to, and `own`, must outlive this object. With
  // options.expert_trial, options.learning.catalog is set, too.
  ExpertSharing(const FederationActorOptions& options, sharing::OwnPatterns& own, Perform perform);

  // All stored items are in the core. Takes the experts among them, and counts the stored ratings.
  void OnRestored(const federation::GossipCore& core);
  // The actor passes on the events of the core. Items of other kinds have no effect.
  void OnItem(const federation::Item& item);
  void OnGone(const Digest& item);
  // Begins what is due.
  void OnTick(federation::GossipCore& core, Context& context);
  void OnRated(const sharing::RatedUse& use);
  // Consents changed: what this node offers is looked at again.
  void OnSharingChanged();
  // Lessons were withdrawn or erased, perhaps some of this node's expert: takes it back until it is
  // known.
  void OnLessonsWithdrawn(federation::GossipCore& core, Context& context);

  // Returns what this node would offer now; an error says why it would offer nothing, and is
  // UNAVAILABLE before this node has looked.
  const absl::StatusOr<sharing::OwnExpert>& own() const { return made_; }
  // Returns whether this node has a deep adapter and has not looked yet whether it may leave.
  bool IsUnknown() const;
  // Returns the experts of this node and its peers for the operator, by node.
  std::map<privacy::NodeId, cluster::v1::ExpertStatus> View(
      const federation::GossipCore& core) const;

 private:
  bool MayOffer(const federation::GossipCore& core, federation::Instant now) const;
  int64_t MonotonicMillis() const;
  bool MustLook(const federation::GossipCore& core) const;
  void Look(federation::GossipCore& core, Context& context);
  void EndLook(federation::GossipCore& core, absl::StatusOr<sharing::OwnExpert> made,
               Context& context);
  void Offer(federation::GossipCore& core, Context& context);
  void TakeBack(federation::GossipCore& core, Context& context);
  void Judge(Context& context);

  const FederationActorOptions& options_;
  sharing::OwnPatterns& own_patterns_;
  const Perform perform_;
  std::optional<sharing::PeerExperts> peers_;  // nullopt: experts are neither offered nor taken
  absl::StatusOr<sharing::OwnExpert> made_;
  bool changed_ = true;   // look again
  bool looking_ = false;  // on the learning pool
  bool judging_ = false;  // likewise
  uint32_t version_ = 0;  // of the deep adapter at the last look
  privacy::ConsentTier tier_ = privacy::ConsentTier::kPrivate;  // likewise
  TimePoint next_look_{};
};

}  // namespace ruvd::actors
