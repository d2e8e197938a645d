// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/local_round.h"
#include "federation/learner/plan.h"
#include "inference/adapter/frame_set.h"
#include "inference/train/limits.h"
#include "node/learning/learning_services.h"
#include "node/sharing/round_release.h"
#include "node/sharing/shareable_lessons.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/limits.h"
#include "privacy/masking/clique.h"
#include "privacy/release/release_guards.h"
#include "privacy/release/unit_release.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::sharing {

class StoredLessonTrainer;

struct LocalContributorOptions {
  // The frame of the cores; without one every request fails.
  std::shared_ptr<const inference::FrameSet> frame;
  privacy::SitePolicy policy;
  std::string scope;  // scope of `policy` that applies to all data of this node
  // Those that the ledger was opened with
  std::vector<privacy::UnitBudget> budgets;
  // Null if no ledger could be opened; then nothing leaves under `dp` and `unavailable` says why.
  storage::PrivacyLedgerStore* ledger = nullptr;
  absl::Status unavailable;
  privacy::dp::RandomBytes random;  // SecureRandomBytes, except in tests
  float min_rating = 0.7F;          // of a completion that teaches
  bool learns = true;               // false: the operator switched learning off
  // Most units that are expected in a sample, which bounds the time of a gradient
  size_t max_batch = 512;
  // Expected norm of the mean clipped gradient over the clip norm, 0 to 1; 0.08 to 0.1 was measured
  double signal = 0.09;
  // Least predicted ratio of signal and noise over all rounds of a unit; 0: any
  double min_snr = limits::kMinReleaseSnr;
  uint64_t memory_bytes = limits::kBackgroundTrainingBytes;  // of the activations
};

// What a round asks of this node. All is borrowed for the call.
struct ContributionRequest {
  const federation::LearnerPlan* plan = nullptr;  // passed Check
  uint64_t round = 0;  // the running round, or for CheckLessons the next one
  // The state before the round; CheckLessons needs none
  const federation::GlobalState* base = nullptr;
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;  // from the operator's record
  // Members that contribute, this one included: for the predicted signal only
  size_t nodes = 1;
  size_t max_batch = 0;  // lowers LocalContributorOptions::max_batch; 0: it does not
};

// A contribution that may be offered to peers, and what only this node may know about it.
struct LocalContribution {
  federation::Contribution contribution;
  uint64_t reservation = 0;  // of the ledger, for NoteSent; 0: nothing was charged
  size_t lessons = 0;        // that could be in it
  size_t units = 0;          // units that could be in the sample; `lessons` for a delta
  double loss = 0;           // of the last local step, in nats per token; 0 for a gradient
  double sampling_rate = 0;  // of a gradient
  double epsilon = 0;        // of this charge alone; 0: nothing was charged
  // The people whose lessons could be in it, each once: when one of them withdraws, the
  // contribution must be withdrawn, too.
  std::vector<privacy::Contributor> contributors;
};

// Computes this node's contribution of a round from its lessons (shareable_lessons.h).
//
// Under `public` it is the change by plan.local steps, or a clipped gradient without noise. Under
// `dp` it is the sum of the clipped gradients of a secret sample of units with whole noise, charged
// to the ledger before the noise is drawn. Under `masked` the sum of its clique has that noise, and
// this node draws its share of it (MakeSum, NoiseShare and PayForShare). Each node meets its units'
// epsilon by its own sampling rate. A lesson takes part from the round after it came on, until it
// had all its rounds (privacy/ledger/cohort_ledger.h). Users take part in the first rounds of the
// node's life only: which lesson of a user was the first is forgotten when it is withdrawn, so all
// users count as if they had joined in round 0. So does the node where it is the unit: all its
// lessons are one unit, whose gradient is clipped as a whole. A text that is withdrawn and added
// again counts as a new lesson. Where the operator changes the unit, what was spent under the
// former one counts (storage/ledger/ledger_accounts.h).
//
// A budget of the node limits the charges of every unit: no gradient is computed for a round that
// would exceed it.
//
// A round that was charged is never charged again: after a restart the node waits for the next one.
//
// Its functions change nothing but the ledger, so it is as thread-safe as what it is given; Make,
// MakeSum and CheckLessons belong on the learning thread.
class LocalContributor {
 public:
  explicit LocalContributor(LocalContributorOptions options) : options_(std::move(options)) {}

  // Checks everything that depends on no lesson. Returns PLAN_MISMATCH for a plan that is not for
  // this node's frame; INVALID_ARGUMENT for a tier that the plan's kind does not serve, saying
  // which kind does, and if no sampling rate is small enough for the budget, with the figures;
  // SCOPE_UNKNOWN, POLICY_REFUSES, PRIVACY_BUDGET_SPENT for a unit without a budget or if the node
  // has none left, and the errors of opening the ledger. OK for the tier `private`, under which
  // nothing leaves.
  absl::Status Check(const federation::LearnerPlan& plan, privacy::ConsentTier tier) const;

  // Checks whether the site policy and the ledger allow the tier, whatever the plan is. Returns
  // SCOPE_UNKNOWN, POLICY_REFUSES and the errors of opening the ledger.
  absl::Status CheckTier(privacy::ConsentTier tier) const;

  // Checks whether a verdict of this node may leave now. Returns the errors of Check under the tier
  // `public`, and LEARNING_PAUSED while learning is paused or off.
  absl::Status CheckVerdict(const learning::LearningServices& services,
                            const federation::LearnerPlan& plan) const;

  // Returns the lessons that would take part in the round, none under `private`. Returns the errors
  // that Make or MakeSum would return before it computes a gradient, and PRIVACY_BUDGET_SPENT if
  // the round is charged already. LEARNING_PAUSED while learning is paused or off.
  absl::StatusOr<LessonSampling> Plan(const learning::LearningServices& services,
                                      const ContributionRequest& request) const;
  // Returns what everything with noise has cost, and the noise of this plan; null: this node takes
  // part in no rounds.
  privacy::v1::ReleaseStatus View(const federation::LearnerPlan* plan) const;

  // Makes the contribution. Nullopt if no lesson may leave under the tier. INVALID_ARGUMENT for the
  // tier `masked`, under which only MakeSum reads lessons. Further errors: PRIVACY_BUDGET_SPENT if
  // the round is charged already, as after a crash, or if the node, as the unit or by its limit,
  // has no budget left for it; SIGNAL_TOO_WEAK, with the figures; ABORTED with the reason CHANGED
  // if a lesson or a consent was withdrawn meanwhile; CANCELLED; and those of the stores, the
  // trainer and PrepareUnits. A charge stays after an error of the ledger; otherwise an error costs
  // nothing.
  absl::StatusOr<std::optional<LocalContribution>> Make(const learning::LearningServices& services,
                                                        const ContributionRequest& request) const;

  // ---- Under the tier `masked`

  // Makes the sum of the clipped gradients of a secret sample; it costs nothing and must not leave.
  // CONSENT_MISSING if no lesson may leave, and PRIVACY_BUDGET_SPENT if the round is charged
  // already; further errors as for Make.
  absl::StatusOr<PreparedSum> MakeSum(const learning::LearningServices& services,
                                      const ContributionRequest& request) const;
  // Returns the errors that MakeSum would return before it computes a gradient.
  absl::Status CheckLessons(const learning::LearningServices& services,
                            const ContributionRequest& request) const;
  // Makes this node's share in the sum of `clique` with its share of the noise. It costs nothing
  // and must not leave, except masked and after PayForShare. PRIVACY_BUDGET_SPENT if the round is
  // charged already. ABORTED if a lesson or a consent was withdrawn meanwhile; those of
  // NoiseUnitShare.
  absl::StatusOr<NoisedShare> NoiseShare(const learning::LearningServices& services,
                                         const federation::LearnerPlan& plan,
                                         const PreparedSum& sum,
                                         const privacy::masking::Clique& clique) const;
  // Charges the ledger for a share of this sum, after which it may leave, and returns the
  // reservation. A sum is for one share, also after a restart: PRIVACY_BUDGET_SPENT if the round is
  // charged already. It also returns the errors of NoiseShare and PayForUnitShare.
  absl::StatusOr<uint64_t> PayForShare(const learning::LearningServices& services,
                                       const federation::LearnerPlan& plan, const PreparedSum& sum,
                                       const privacy::LedgerCharge& charge) const;
  // Returns the number of the ledger's newest entry, which no later reservation reaches; 0: it has
  // no entry.
  uint64_t last_reservation() const;

  // Records in the ledger that a charged contribution has left; call it after the offer. A failure
  // is only logged, because the charge counts anyway. 0 does nothing.
  void NoteSent(uint64_t reservation) const;

 private:
  using Sampling = LessonSampling;

  void WriteSpent(privacy::PrivacyUnit unit, privacy::v1::ReleaseStatus* view) const;
  absl::Status CheckNoised(const federation::LearnerPlan& plan, privacy::ConsentTier tier) const;
  // Returns the largest sampling rate within the budget of the plan's unit.
  absl::StatusOr<double> LargestRate(const federation::LearnerPlan& plan,
                                     privacy::ConsentTier tier) const;
  // Returns the oldest joining second whose units may take part in a round at this rate.
  absl::StatusOr<uint64_t> OldestEligible(const ContributionRequest& request, double rate) const;
  // Returns the error with which the ledger would refuse the charge of a round, before a gradient
  // is computed for it.
  absl::Status CheckFits(const ContributionRequest& request, double rate,
                         uint64_t oldest_joined) const;
  // Returns why the node, as a whole the unit, takes part no more; no later lesson changes that.
  absl::Status NodeRetired(const ContributionRequest& request, double rate) const;
  absl::Status RequireSignal(const ContributionRequest& request, const Sampling& sampling) const;
  absl::StatusOr<Sampling> PlanNoised(const ContributionRequest& request,
                                      const ShareableLessons& lessons) const;
  // Returns LEARNING_PAUSED while learning is paused or off.
  absl::Status RequireLearning(const learning::LearningServices& services) const;
  // Returns the most units that are expected in a sample.
  double MaxBatch(const ContributionRequest& request) const;
  Sampling PlanOpen(const ContributionRequest& request, const ShareableLessons& lessons) const;
  // Returns the ledger's newest round of the plan's unit.
  uint64_t NewestCharged(const federation::LearnerPlan& plan) const;
  absl::StatusOr<Sampling> PlanMasked(const learning::LearningServices& services,
                                      const ContributionRequest& request) const;
  absl::StatusOr<privacy::UnitSum> SumOf(const learning::LearningServices& services,
                                         const ContributionRequest& request,
                                         const Sampling& sampling) const;
  // Returns ABORTED unless all lessons may still leave.
  absl::Status CheckUnchanged(const learning::LearningServices& services,
                              const ContributionRequest& request, const Sampling& sampling) const;
  absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> TrainerOf(
      const learning::LearningServices& services, const federation::LearnerPlan& plan,
      const Sampling& sampling) const;
  absl::StatusOr<LocalContribution> MakeDelta(const learning::LearningServices& services,
                                              const ContributionRequest& request,
                                              const Sampling& sampling) const;
  absl::StatusOr<LocalContribution> MakeGradient(const learning::LearningServices& services,
                                                 const ContributionRequest& request,
                                                 const Sampling& sampling) const;
  absl::StatusOr<privacy::PreparedUnits> Noise(const learning::LearningServices& services,
                                               const ContributionRequest& request,
                                               PreparedSum sum) const;
  // Calls `release` with the request, terms and guards of a share if it may leave now.
  template <typename Release>
  auto WithShareGuards(const learning::LearningServices& services,
                       const federation::LearnerPlan& plan, const PreparedSum& sum,
                       Release release) const
      -> decltype(release(std::declval<const privacy::UnitReleaseTerms&>(),
                          std::declval<const privacy::ReleaseGuards&>()));
  // Returns the terms of a charge for this sample.
  absl::StatusOr<privacy::UnitReleaseTerms> TermsOf(const ContributionRequest& request,
                                                    const Sampling& sampling) const;

  const LocalContributorOptions options_;
};

}  // namespace ruvd::sharing
