// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"
#include "federation/events/item.h"
#include "federation/instant.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "node/sharing/contribution_judge.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/masked_contributions.h"
#include "node/sharing/state_pace.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/identity/node_key.h"
#include "privacy/masking/clique.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::sharing {

// Changes a contribution of this node before it is signed and offered; the privacy of what it
// returns is its own affair. Experiments with members that lie have one. `rounds` are those that
// the node knows. The contribution that it returns must pass CheckContribution.
using ContributionEdit = std::function<federation::Contribution(
    const federation::Contribution& own, const federation::ClusterRounds& rounds)>;

// What NodeRounds needs of its owner. The functions are called within the methods of NodeRounds and
// must not call it.
struct NodeRoundsOptions {
  std::shared_ptr<const federation::LearnerPlan> plan;  // passed Check
  privacy::ClusterId cluster{};
  privacy::NodeId self{};
  privacy::dp::RandomBytes random;  // for keys: SecureRandomBytes, except in tests
  // Keeps the settled state for the next start (ClusterRounds::TakeSavedState).
  std::function<void(std::string state)> save;
  // As in MaskedContributionsOptions
  ShareMaker noise;
  SharePayer pay;
  std::function<uint64_t()> last_reservation;
  // Returns whether lessons of all these people may leave under the tier now; null: they may.
  std::function<bool(std::span<const privacy::Contributor>, privacy::ConsentTier)> may_leave;
  // Records whose lessons are in an item that is being offered, and returns the actions that are
  // performed in place of `offered`. If that fails, it withdraws the item from the core, and the
  // actions do not send it (OwnPatterns::RecordContribution). Null: nothing is recorded.
  std::function<federation::Actions(federation::Actions offered,
                                    std::vector<privacy::Contributor> contributors,
                                    federation::GossipCore& core)>
      record;
  ContributionEdit edit;  // null: contributions are what was made
  // Changes a checkpoint before it may be offered; null: it is what this node computed.
  std::function<void(federation::ClusterRounds::Checkpoint& checkpoint)> edit_checkpoint;
};

// ---- What the owner computes on another thread, one piece at a time. Each piece ends in the
// method of NodeRounds that it names, also if it could not be begun.

// LocalContributor::Make, then EndContribution
struct ContributionWork {
  uint64_t round = 0;
  std::shared_ptr<const federation::GlobalState> base;
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  size_t nodes = 1;      // members that contribute, this one included
  uint64_t changes = 0;  // of lessons and consents, before the work began
};
// LocalContributor::MakeSum for a sum, otherwise CheckLessons; then EndSum
struct SumWork {
  MaskedContributions::Work work;
  std::shared_ptr<const federation::GlobalState> base;  // null for a check
};
// ContributionJudge::Judge, then EndVerdict
struct VerdictWork {
  std::shared_ptr<const RoundToJudge> judged;
  uint64_t changes = 0;
};
// The owner judges the state before the running round, then EndJudgement, then it serves the state
// or not.
struct JudgementWork {
  uint64_t exclusions = 0;  // of members that had a part in a state, before the work began
};
using RoundWork = std::variant<ContributionWork, SumWork, VerdictWork, JudgementWork>;

// What the owner does after a method of NodeRounds, in this order.
struct RoundsOutput {
  federation::Actions actions;  // of the core, to be performed
  std::vector<uint64_t> sent;   // charges whose release is in `actions`, for NoteSent
  absl::Status checkpoint;      // why the state of the rounds could not be offered, for the log
  // A state contained a part of a member that is excluded now, so the served adapter may, too.
  bool excluded = false;
  std::optional<RoundWork> work;
};

// One node's part in the rounds of its cluster. It passes items and time to ClusterRounds, says
// what this node has to compute and when, offers contributions, verdicts and checkpoints, and takes
// them back. A contribution leaves only if the consents and lessons from which it was made are the
// same as before. Nothing is charged for a round to which a clock leapt, and each kind of work has
// its turn where rounds are so short that work fills them.
//
// It is a function of what it is told: it has no thread, clock, file or socket, and the node's
// federation actor and the simulated world (tests/sim) both drive it. Not thread-safe.
class NodeRounds {
 public:
  // `saved` is what `save` was given last, before the restart; empty: this node is new. What cannot
  // be used of it is logged. Returns the errors of ClusterRounds::Create.
  static absl::StatusOr<std::unique_ptr<NodeRounds>> Create(NodeRoundsOptions options,
                                                            std::string_view saved,
                                                            federation::Instant now);
  NodeRounds(const NodeRounds&) = delete;
  NodeRounds& operator=(const NodeRounds&) = delete;

  // ---- Events of the core, of which items of other kinds have no effect

  // Returns the errors of ClusterRounds::OnItem, except ROUND_SEALED.
  absl::Status OnItem(const federation::Item& item);
  void OnDropped(const federation::ItemDropped& dropped);
  void OnWithdrawn(const federation::Item& item);
  // Leaves out members that are not in good standing. Returns whether a state contained a part of
  // one, which is logged: then the state is judged again.
  bool ExcludeExpelled(const federation::GossipCore& core);

  // ---- Events of the owner

  // Moves on to `now` and begins what is due. `consent_since_ms` is the time at which the operator
  // chose the core's tier. Call it every 100 to 500 ms.
  RoundsOutput OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                      federation::Instant now);
  // The operator's tier or the lessons are changing: what is being made now is not offered.
  // Consents of users are looked at when it is offered.
  void OnSharingChanged() { ++sharing_changes_; }
  // Lessons were withdrawn or erased: returns actions that take back verdicts, and contributions
  // without noise.
  federation::Actions OnLessonsWithdrawn(federation::GossipCore& core);

  // ---- Ends of work
  RoundsOutput EndContribution(const ContributionWork& work,
                               absl::StatusOr<std::optional<LocalContribution>> made,
                               federation::GossipCore& core, federation::Instant now);
  // `made` is nullopt for a check that passed. `took`: the time without waits for other work
  void EndSum(const SumWork& work, absl::StatusOr<std::optional<PreparedSum>> made, Duration took);
  RoundsOutput EndVerdict(const VerdictWork& work, absl::StatusOr<MeasuredVerdict> made,
                          federation::GossipCore& core, federation::Instant now);
  // Returns whether the state may be served: no member was excluded that may have a part in it.
  bool EndJudgement(const JudgementWork& work);

  // ---- Views
  // Returns what a contribution to the running round under a tier asks for.
  ContributionWork WorkUnder(const federation::GossipCore& core, privacy::ConsentTier tier);
  void Write(cluster::v1::RoundsStatus* view);
  federation::ClusterRounds& cluster() { return rounds_; }

 private:
  NodeRounds(NodeRoundsOptions options, federation::ClusterRounds rounds);

  // Moves the rounds on to the time; a clock that was set back is logged.
  void FollowClock(federation::Instant now);
  absl::Status OfferCheckpoint(federation::GossipCore& core, federation::Instant now,
                               federation::Actions* actions);
  std::optional<RoundWork> NextWork(federation::GossipCore& core);
  std::optional<RoundWork> WorkForSum();
  // Returns whether this node should contribute to the running round now, by itself.
  bool ContributionIsDue(const federation::GossipCore& core) const;
  std::optional<RoundWork> Contribute(const federation::GossipCore& core);
  // Returns whether what was made while `sharing_changes` counted may no longer leave.
  bool MayNoLongerLeave(uint64_t sharing_changes,
                        std::span<const privacy::Contributor> contributors,
                        const federation::GossipCore& core) const;
  absl::Status Offer(uint64_t round, LocalContribution made, federation::GossipCore& core,
                     federation::Instant now, RoundsOutput* output);
  // Records whose lessons are in an offered item. Returns CHANGED if that could not be recorded:
  // then the item is taken back.
  absl::Status Record(federation::Actions offered, std::vector<privacy::Contributor> contributors,
                      federation::GossipCore& core, RoundsOutput* output);
  std::vector<federation::RoundContribution> OthersOf(uint64_t round) const;
  // Returns whether this node should judge the round before the running one now.
  bool VerdictIsDue(const federation::GossipCore& core);
  std::optional<RoundWork> MeasureVerdict(const federation::GossipCore& core);
  absl::Status OfferVerdict(uint64_t round, MeasuredVerdict made, federation::GossipCore& core,
                            federation::Instant now, RoundsOutput* output);
  void WriteVerdicts(cluster::v1::RoundsStatus* view);

  NodeRoundsOptions options_;
  federation::ClusterRounds rounds_;
  std::optional<MaskedContributions> masked_;  // only for gradients
  bool working_ = false;                       // the owner computes something
  bool to_judge_ = false;  // the global adapter may have changed since it was judged
  // Which work has had its turn: a contribution, and after it a verdict. Both are forgotten when
  // the global adapter was judged or need not be.
  bool contributed_ = false;
  bool gave_verdict_ = false;
  uint64_t sharing_changes_ = 0;
  uint64_t exclusions_ = 0;
  std::vector<uint64_t> shares_sent_;  // charges of shares that masked_ offered in this tick
  StatePace state_pace_;
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

}  // namespace ruvd::sharing
