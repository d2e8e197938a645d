// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"
#include "federation/learner/cluster_rounds.h"
#include "inference/adapter/talora.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/contribution_judge.h"
#include "node/sharing/global_gate.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/masked_contributions.h"
#include "node/sharing/own_patterns.h"
#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::actors {

// The federation actor's part in the cluster's rounds: it passes items and time to ClusterRounds,
// has this node's contribution made at the begin of each round, offers it and the checkpoints,
// saves the settled state, and serves the global adapter once this node's gate allows it. Where the
// plan counts quality, it judges the contributions of other members to a round once the round is
// over. Training and judging run on the learning pool. It belongs to one life of the actor. Not
// thread-safe.
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
  // All stored items are in the core.
  void OnRestored(const federation::GossipCore& core, Context& context);
  // The actor passes on the events of the core. Items of other kinds have no effect.
  void OnItem(const federation::Item& item);
  void OnDropped(const federation::ItemDropped& dropped);
  void OnWithdrawn(const federation::Item& item);
  // Leaves out members that are not in good standing.
  void ExcludeExpelled(const federation::GossipCore& core);
  // Begins what is due: a contribution, a step of a masked sum, a verdict, the judgement of a new
  // global adapter, the offer of a checkpoint.
  void OnTick(federation::GossipCore& core, int64_t consent_since_ms, Context& context);
  // The operator's tier or the lessons are changing: a contribution that is being made now is not
  // offered. Consents of users are looked at when it is offered.
  void OnSharingChanged() { ++sharing_changes_; }
  // Lessons were withdrawn or erased: takes back verdicts, and contributions without noise.
  void OnLessonsWithdrawn(federation::GossipCore& core, Context& context);
  // Adds to `preview` what this node would give to the running round under a tier other than
  // `private`, and sends it; nothing is charged, noised or offered. Under `public` this takes the
  // training of a contribution.
  void Preview(const federation::GossipCore& core, privacy::ConsentTier tier,
               admin::v1::PreviewReleaseResponse preview,
               const runtime::ReplyTo<admin::v1::PreviewReleaseResponse>& reply, Context& context);
  // Returns the state of the rounds for the operator.
  admin::v1::RoundsStatus View();

 private:
  federation::Instant Now() const { return federation::Instant::Of(*options_.clock); }
  // Moves the rounds on to the time; a clock that was set back is logged.
  void FollowClock();
  void OfferCheckpoint(federation::GossipCore& core, Context& context);
  void Exclude(const privacy::NodeId& member);
  void Save();
  // Begins what the masked sums need of the learning pool; false if they need nothing.
  bool WorkForSum(Context& context);
  void EndWorkForSum(const sharing::MaskedContributions::Work& work,
                     absl::StatusOr<std::optional<sharing::PreparedSum>> made, Duration took);
  // Returns how many members count, this one included.
  static size_t Contributors(const federation::GossipCore& core);
  // Returns whether this node should contribute to the running round now, by itself.
  bool ContributionIsDue(const federation::GossipCore& core) const;
  void Contribute(federation::GossipCore& core, Context& context);
  void EndContribution(uint64_t round, uint64_t sharing_changes,
                       absl::StatusOr<std::optional<sharing::LocalContribution>> made,
                       federation::GossipCore& core, Context& context);
  // Returns whether what was made while `sharing_changes` counted may no longer leave.
  bool MayNoLongerLeave(uint64_t sharing_changes,
                        std::span<const privacy::Contributor> contributors,
                        const federation::GossipCore& core) const;
  absl::Status Offer(uint64_t round, const sharing::LocalContribution& made,
                     federation::GossipCore& core, Context& context);
  // Records whose lessons are in an offered item, then performs the actions. Returns CHANGED if
  // that could not be recorded: then the item is taken back.
  absl::Status PerformRecorded(federation::Actions offered,
                               std::vector<privacy::Contributor> contributors,
                               federation::GossipCore& core, Context& context);
  std::vector<federation::RoundContribution> OthersOf(uint64_t round) const;
  // Returns whether this node should judge the round before the running one now.
  bool VerdictIsDue(const federation::GossipCore& core);
  void MeasureVerdict(federation::GossipCore& core, Context& context);
  void EndVerdict(uint64_t round, uint64_t sharing_changes,
                  absl::StatusOr<sharing::MeasuredVerdict> made, federation::GossipCore& core,
                  Context& context);
  absl::Status OfferVerdict(uint64_t round, const sharing::MeasuredVerdict& made,
                            federation::GossipCore& core, Context& context);
  void WriteVerdicts(admin::v1::RoundsStatus* view);
  void Judge(Context& context);
  void EndJudgement(const std::shared_ptr<const inference::Talora>& candidate,
                    const absl::StatusOr<sharing::GlobalVerdict>& verdict);
  void Serve(std::shared_ptr<const inference::Talora> adapter);
  // Returns the adapter of the state before the running round; null if no member had a part in it.
  absl::StatusOr<std::shared_ptr<const inference::Talora>> Candidate();

  const FederationActorOptions& options_;
  const RoundLearningOptions& learner_;
  sharing::OwnPatterns& own_;
  const Perform perform_;
  std::optional<federation::ClusterRounds> rounds_;     // set by Restore
  std::optional<sharing::MaskedContributions> masked_;  // set by Restore; only for gradients
  std::shared_ptr<const inference::Talora> served_;
  Digest judged_{};  // digest of the state that was judged last
  std::optional<sharing::GlobalVerdict> verdict_;
  bool working_ = false;   // something runs on the learning pool
  bool to_judge_ = false;  // the global adapter may have changed since it was judged
  // Which work has had its turn: a contribution, and after it a verdict. Both are forgotten when
  // the global adapter was judged or need not be.
  bool contributed_ = false;
  bool gave_verdict_ = false;
  uint64_t sharing_changes_ = 0;
  std::optional<federation::Instant> last_tick_;
  uint64_t tried_ = 0;  // the last round to which a contribution was tried
  uint64_t last_round_ = 0;
  uint32_t last_lessons_ = 0;
  double last_epsilon_ = 0;
  uint32_t payload_bytes_ = 0;
  absl::Status refusal_;
  struct Verdicts {
    uint64_t tried = 0;         // the last round that was judged, or found not to be
    uint64_t last_round = 0;    // on which a verdict was offered since the start
    uint32_t last_judged = 0;   // contributions in that verdict
    uint32_t last_lessons = 0;  // that judged
    absl::Status refusal;
  } verdicts_;
};

}  // namespace ruvd::actors
