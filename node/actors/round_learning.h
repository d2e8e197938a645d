// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"
#include "inference/adapter/talora.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/global_gate.h"
#include "node/sharing/node_rounds.h"
#include "node/sharing/own_patterns.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::actors {

// The federation actor's part in the cluster's rounds: NodeRounds says what is to be computed, and
// this class has it computed on the learning pool, performs the actions, saves the settled state,
// and serves the global adapter once this node's gate allows it. It belongs to one life of the
// actor. Not thread-safe.
class RoundLearning {
 public:
  using Context = runtime::ActorContext<GossipMessage>;
  // Performs actions of the core.
  using Perform = std::function<void(federation::Actions actions, Context& context)>;

  // Everything that `options` point to must outlive this object; options.rounds has a value.
  RoundLearning(const FederationActorOptions& options, sharing::OwnPatterns& own, Perform perform);

  // Reads what was kept from before the restart; called before any other method. Returns the
  // errors of the stores.
  absl::Status Restore();
  // All stored items are in the core. Takes back what OnLessonsWithdrawn would have taken back, if
  // the process ended before it.
  void OnRestored(federation::GossipCore& core, Context& context);
  // The actor passes on the events of the core. Items of other kinds have no effect.
  void OnItem(const federation::Item& item);
  void OnDropped(const federation::ItemDropped& dropped) { rounds_->OnDropped(dropped); }
  void OnWithdrawn(const federation::Item& item) { rounds_->OnWithdrawn(item); }
  // Leaves out members that are not in good standing.
  void ExcludeExpelled(const federation::GossipCore& core);
  // Begins what is due (NodeRounds::OnTick).
  void OnTick(federation::GossipCore& core, int64_t consent_since_ms, Context& context);
  void OnSharingChanged() { rounds_->OnSharingChanged(); }
  // Lessons were withdrawn or erased: takes back verdicts, and contributions without noise.
  void OnLessonsWithdrawn(federation::GossipCore& core, Context& context);
  // Adds to `preview` what this node would give to the running round under a tier other than
  // `private`, and sends it; nothing is charged, noised or offered. Under `public` this takes the
  // training of a contribution.
  void Preview(const federation::GossipCore& core, privacy::ConsentTier tier,
               privacy::v1::PreviewReleaseResponse preview,
               const runtime::ReplyTo<privacy::v1::PreviewReleaseResponse>& reply,
               Context& context);
  // Returns the state of the rounds for the operator.
  cluster::v1::RoundsStatus View();

 private:
  federation::Instant Now() const { return federation::Instant::Of(*options_.clock); }
  sharing::NodeRoundsOptions OptionsOfRounds();
  std::string SavedState() const;
  void Save(std::string state);
  // Performs what NodeRounds wants and begins its work.
  void Follow(sharing::RoundsOutput output, federation::GossipCore& core, Context& context);
  // Each begins a piece of work, whose end goes to NodeRounds.
  void Begin(const sharing::ContributionWork& work, federation::GossipCore& core, Context& context);
  void Begin(const sharing::SumWork& work, federation::GossipCore& core, Context& context);
  void Begin(const sharing::VerdictWork& work, federation::GossipCore& core, Context& context);
  void Begin(const sharing::JudgementWork& work, federation::GossipCore& core, Context& context);
  // Begins the judgement of the global adapter, if it is another one than before. Returns false if
  // nothing was begun.
  bool Judge(const sharing::JudgementWork& work, Context& context);
  void EndJudgement(const std::shared_ptr<const inference::Talora>& candidate,
                    const absl::StatusOr<sharing::GlobalVerdict>& verdict);
  void Serve(std::shared_ptr<const inference::Talora> adapter);
  // The served adapter, or the one that was judged, may contain a part of a member that is excluded
  // now.
  void StopServing();
  // Returns the adapter of the state before the running round; null if no member had a part in it.
  absl::StatusOr<std::shared_ptr<const inference::Talora>> Candidate();

  const FederationActorOptions& options_;
  const RoundLearningOptions& learner_;
  sharing::OwnPatterns& own_;
  const Perform perform_;
  std::unique_ptr<sharing::NodeRounds> rounds_;  // set by Restore
  std::shared_ptr<const inference::Talora> served_;
  Digest judged_{};  // digest of the state that was judged last
  std::optional<sharing::GlobalVerdict> verdict_;
};

}  // namespace ruvd::actors
