// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of LocalContributor that decides what may leave, and at which cost.

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/privacy_plan.h"
#include "node/sharing/lesson_trainer.h"
#include "node/sharing/local_contributor.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::sharing {
namespace {

privacy::v1::PrivacyUnit WireUnit(privacy::PrivacyUnit unit) {
  switch (unit) {
    case privacy::PrivacyUnit::kLesson:
      return privacy::v1::PRIVACY_UNIT_LESSON;
    case privacy::PrivacyUnit::kUser:
      return privacy::v1::PRIVACY_UNIT_USER;
    case privacy::PrivacyUnit::kNode:
      return privacy::v1::PRIVACY_UNIT_NODE;
  }
  return privacy::v1::PRIVACY_UNIT_UNSPECIFIED;
}

using federation::ContributionKind;
using federation::LearnerPlan;
using privacy::ConsentTier;
using privacy::PrivacyUnit;

constexpr uint8_t kUse = privacy::consent_purposes::kTraining | privacy::consent_purposes::kSharing;

// Returns how many lessons a unit has: the lower median, rounded down, so that it may be known. One
// user moves it by hardly anything, however many lessons that user has. Where the node is the unit,
// it is the number of all its lessons, which is known in these steps up to kMaxUnitLessons, as that
// of the units is elsewhere: it only decides whether the signal suffices, and changes no value.
double LessonsEach(const federation::LessonUnits& units) {
  std::vector<size_t> sizes;
  sizes.reserve(units.size());
  for (const std::vector<size_t>& unit : units) {
    sizes.push_back(unit.size());
  }
  if (sizes.empty()) {
    return 1;
  }
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
  std::ranges::nth_element(sizes, middle);
  return static_cast<double>(federation::PublicUnits(*middle));
}

absl::Status OtherKind(ConsentTier tier) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
               "nothing can leave under the tier {} while `federation.contributions` is \"delta\", "
               "because the change by several steps hides no lesson; set it to \"gradient\" on all "
               "nodes of the cluster, or consent to another tier",
               TierName(tier));
}

// Returns the zCDP of what peers see of a round, without sampling.
absl::StatusOr<double> RhoOf(const LearnerPlan& plan, ConsentTier tier) {
  return federation::RhoOfRound(plan, tier == ConsentTier::kMasked);
}

}  // namespace

absl::Status LocalContributor::Check(const LearnerPlan& plan, ConsentTier tier) const {
  if (tier == ConsentTier::kPrivate) {
    return absl::OkStatus();
  }
  if (options_.frame == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "this node has no frame for rounds; make one with `ruvd model frame`");
  }
  RETURN_IF_ERROR(CoreShapeOfPlan(plan, *options_.frame).status());
  RETURN_IF_ERROR(options_.policy.Require(options_.scope, kUse, tier));
  if (tier == ConsentTier::kPublic) {
    return absl::OkStatus();
  }
  if (plan.kind == ContributionKind::kDelta) {
    return OtherKind(tier);
  }
  return CheckNoised(plan, tier);
}

absl::Status LocalContributor::CheckTier(ConsentTier tier) const {
  if (tier == ConsentTier::kPrivate) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(options_.policy.Require(options_.scope, kUse, tier));
  return tier == ConsentTier::kPublic || options_.ledger != nullptr ? absl::OkStatus()
                                                                    : options_.unavailable;
}

absl::Status LocalContributor::CheckNoised(const LearnerPlan& plan, ConsentTier tier) const {
  if (options_.ledger == nullptr) {
    return options_.unavailable;
  }
  RETURN_IF_ERROR(LargestRate(plan, tier).status());
  ASSIGN_OR_RETURN(const double rho, RhoOf(plan, tier));
  ASSIGN_OR_RETURN(const privacy::dp::RdpCurve least,
                   privacy::dp::SampledCurve(limits::kMinSamplingRate, rho));
  return options_.ledger->CheckNode(least);
}

absl::StatusOr<double> LocalContributor::LargestRate(const LearnerPlan& plan,
                                                     ConsentTier tier) const {
  ASSIGN_OR_RETURN(const privacy::UnitBudget budget,
                   privacy::BudgetOf(options_.budgets, plan.unit));
  ASSIGN_OR_RETURN(const double rho, RhoOf(plan, tier));
  return federation::SamplingRateWithin(rho, budget);
}

absl::StatusOr<uint64_t> LocalContributor::OldestEligible(const ContributionRequest& request,
                                                          double rate) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const double rho, RhoOf(plan, request.tier));
  ASSIGN_OR_RETURN(const privacy::dp::RdpCurve cost, privacy::dp::SampledCurve(rate, rho));
  return options_.ledger->OldestEligible(plan.unit, LedgerRoundOf(plan, request.round), cost);
}

absl::Status LocalContributor::CheckFits(const ContributionRequest& request, double rate,
                                         uint64_t oldest_joined) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const double rho, RhoOf(plan, request.tier));
  privacy::LedgerCharge charge{.unit = plan.unit,
                               .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
                               .sigma = plan.grid.NoiseMultiplier(),
                               .sampling_rate = rate,
                               .round = LedgerRoundOf(plan, request.round),
                               .oldest_joined = oldest_joined};
  ASSIGN_OR_RETURN(charge.curve, privacy::dp::SampledCurve(rate, rho));
  return options_.ledger->Check(charge);
}

absl::Status LocalContributor::NodeRetired(const ContributionRequest& request, double rate) const {
  RETURN_IF_ERROR(CheckFits(request, rate, 0));
  ASSIGN_OR_RETURN(const privacy::UnitBudget budget,
                   privacy::BudgetOf(options_.budgets, PrivacyUnit::kNode));
  ASSIGN_OR_RETURN(const double spent,
                   options_.ledger->LargestEpsilon(PrivacyUnit::kNode, budget.delta));
  return Error(absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent,
               "this node, which is one unit, took part in all its {} rounds and spent epsilon "
               "{:.3f} of {:.3f} at delta {:.1e}; it takes part no more, unless you set more "
               "privacy.rounds while epsilon is left",
               budget.rounds, spent, budget.epsilon, budget.delta);
}

absl::Status LocalContributor::RequireSignal(const ContributionRequest& request,
                                             const Sampling& sampling) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const privacy::UnitBudget budget,
                   privacy::BudgetOf(options_.budgets, plan.unit));
  return federation::RequireSignal(
      plan,
      {.masked = request.tier == ConsentTier::kMasked,
       .nodes = request.nodes,
       .units = federation::PublicUnits(sampling.units.size()),
       .rate = sampling.rate,
       .max_batch = MaxBatch(request),
       .rounds = budget.rounds,
       .delta = budget.delta,
       .signal = federation::SignalOf(LessonsEach(sampling.units), options_.signal)},
      options_.min_snr);
}

// A cluster may have changed its unit, so releases of another one are told, too; what a unit has
// spent includes them (storage::ledger::LedgerAccounts).
void LocalContributor::WriteSpent(PrivacyUnit unit, privacy::v1::ReleaseStatus* view) const {
  absl::Status known;
  const auto spent_by = [&](PrivacyUnit spender, double delta) {
    const absl::StatusOr<double> spent = options_.ledger->LargestEpsilon(spender, delta);
    known.Update(spent.status());
    return spent.value_or(0);
  };
  for (const PrivacyUnit each : privacy::kPrivacyUnits) {
    const storage::LedgerTotals totals = options_.ledger->totals(each);
    view->set_releases(view->releases() + totals.reservations);
    view->set_sums(view->sums() || totals.shares > 0);
  }
  for (const privacy::UnitBudget& budget : options_.budgets) {
    if (budget.unit == unit) {
      view->set_spent_epsilon(spent_by(unit, budget.delta));
    } else if (budget.unit == PrivacyUnit::kNode) {
      view->set_node_spent_epsilon(spent_by(PrivacyUnit::kNode, budget.delta));
      view->set_node_limit_epsilon(budget.epsilon);
    }
  }
  if (!known.ok()) {
    view->set_unknown(MessageOf(known));
    view->set_unknown_reason(ReasonOf(known));
  }
}

privacy::v1::ReleaseStatus LocalContributor::View(const LearnerPlan* plan) const {
  const PrivacyUnit unit = plan == nullptr ? PrivacyUnit::kLesson : plan->unit;
  privacy::v1::ReleaseStatus view;
  view.set_scope(options_.scope);
  view.set_unit(WireUnit(unit));
  if (plan != nullptr && plan->kind == ContributionKind::kGradient) {
    view.set_clip_norm(plan->clip_norm);
    view.set_noise_multiplier(plan->grid.NoiseMultiplier());
  }
  if (const auto budget = privacy::BudgetOf(options_.budgets, unit); budget.ok()) {
    view.set_budget_epsilon(budget->epsilon);
    view.set_delta(budget->delta);
  }
  if (options_.ledger != nullptr) {
    WriteSpent(unit, &view);
  } else if (!options_.unavailable.ok()) {
    view.set_unknown(MessageOf(options_.unavailable));
    view.set_unknown_reason(ReasonOf(options_.unavailable));
  }
  return view;
}

}  // namespace ruvd::sharing
