// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/membership_releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/status.h"
#include "bench/experiments/federate_guards.h"
#include "bench/experiments/federate_lessons.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/local_round.h"
#include "federation/learner/privacy_plan.h"
#include "federation/learner/round_set.h"
#include "federation/learner/rounds.h"
#include "privacy/masking/clique.h"
#include "privacy/release/unit_release.h"

namespace ruvd::bench {
namespace {

using federation::Contribution;
using federation::RoundContribution;
using privacy::ConsentTier;

class ReleasingCluster {
 public:
  ReleasingCluster(const AttackedCluster& cluster, const ReleaseTerms& terms)
      : cluster_(cluster),
        terms_(terms),
        plan_(*cluster.plan),
        state_(EmptyState(plan_, /*before_round=*/1)) {}

  absl::StatusOr<Releases> Run() {
    RETURN_IF_ERROR(Begin());
    releases_.sum.resize(plan_.banks() * plan_.values_per_bank);
    while (state_.round < terms_.rounds) {
      ASSIGN_OR_RETURN(const RoundContribution one, Release());
      std::ranges::transform(releases_.sum, one.contribution.units, releases_.sum.begin(),
                             std::minus<>());  // a contribution is minus the sum
      federation::RoundSet set;
      set.contributions.push_back(&one);
      ASSIGN_OR_RETURN(state_, ApplyRounds(plan_, state_, set, round()));
    }
    releases_.values = state_.values;
    releases_.rate = rates_.front();
    releases_.epsilon = std::numeric_limits<double>::infinity();
    if (terms_.tier != ConsentTier::kPublic) {
      ASSIGN_OR_RETURN(releases_.epsilon, nodes_.front()->ledger().Spent(terms_.delta));
    }
    return std::move(releases_);
  }

 private:
  bool masked() const { return terms_.tier == ConsentTier::kMasked; }
  uint64_t round() const { return state_.round + 1; }

  absl::Status Begin() {
    ASSIGN_OR_RETURN(privacy::UnitBudget budget,
                     privacy::UnitBudget::Within(plan_.unit, terms_.epsilon, terms_.delta));
    budget.rounds = terms_.rounds;
    ASSIGN_OR_RETURN(const double rho, federation::RhoOfRound(plan_, masked()));
    ASSIGN_OR_RETURN(const double largest, federation::SamplingRateWithin(rho, budget));
    for (size_t number = 0; number < (masked() ? cluster_.lessons.size() : size_t{1}); ++number) {
      nodes_.push_back(std::make_unique<GuardedNode>(number, terms_.tier, budget, terms_.seed));
      const size_t units = federation::PublicUnits(cluster_.lessons[number].size());
      const bool all = terms_.every_lesson && terms_.tier == ConsentTier::kPublic;
      const double batch = static_cast<double>(terms_.max_batch) / static_cast<double>(units);
      rates_.push_back(all ? 1.0 : std::min({1.0, largest, batch}));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<privacy::UnitSum> SumOf(size_t number) {
    ASSIGN_OR_RETURN(
        const auto trainer,
        TextLessonTrainer::Create(
            {.model = cluster_.model, .frame = cluster_.frame, .runner = cluster_.runner}, plan_,
            cluster_.lessons[number]));
    federation::LessonUnits units(trainer->lessons());
    for (size_t lesson = 0; lesson < units.size(); ++lesson) {
      units[lesson] = {lesson};
    }
    return GradientSum(plan_, state_, *trainer, units, rates_[number], nodes_[number]->random());
  }

  privacy::UnitReleaseTerms TermsOf(size_t number) const {
    return {.scope = kExperimentScope,
            .unit = plan_.unit,
            .grid = plan_.grid,
            .sampling_rate = rates_[number],
            .delta = terms_.delta,
            .round = round(),
            .subject = fmt::format("round {}", round())};
  }

  absl::StatusOr<RoundContribution> Release() {
    RoundContribution one;
    if (masked()) {
      RETURN_IF_ERROR(ReleaseSum(&one));
      return one;
    }
    GuardedNode& node = *nodes_.front();
    ASSIGN_OR_RETURN(const privacy::UnitSum sum, SumOf(0));
    std::vector<int32_t> units = sum.Plain();
    Contribution::Noise noise = Contribution::Noise::kNone;
    if (terms_.tier == ConsentTier::kDp) {
      ASSIGN_OR_RETURN(privacy::PreparedUnits paid,
                       PrepareUnits(TermsOf(0), node.Guards(), sum, node.contributors()));
      units = std::move(paid.units);
      noise = Contribution::Noise::kWhole;
    }
    one.id = one.origin = node.id();
    ASSIGN_OR_RETURN(one.contribution,
                     GradientContribution(plan_, round(), state_, std::move(units), noise));
    return one;
  }

  absl::Status ReleaseSum(RoundContribution* one) {
    const privacy::masking::MaskLayout layout = LayoutOfSums(plan_);
    privacy::masking::Clique clique{
        .round = {.round = round()}, .layout = layout.Hash(), .members = {}};
    for (const std::unique_ptr<GuardedNode>& node : nodes_) {
      clique.members.push_back({.id = node->id(), .key = node->id()});
    }
    std::ranges::sort(clique.members, {}, &privacy::masking::CliqueMember::id);
    std::vector<int32_t> total(layout.Values());
    for (size_t number = 0; number < nodes_.size(); ++number) {
      GuardedNode& node = *nodes_[number];
      ASSIGN_OR_RETURN(const privacy::UnitSum sum, SumOf(number));
      ASSIGN_OR_RETURN(
          const privacy::NoisedUnitShare share,
          NoiseUnitShare(TermsOf(number), node.Guards(), sum, node.contributors(), layout, clique));
      RETURN_IF_ERROR(
          PayForUnitShare(TermsOf(number), node.Guards(), sum, node.contributors(), share.charge)
              .status());
      std::ranges::transform(total, share.input.units, total.begin(), std::plus<>());
    }
    one->id = one->origin = clique.SetHash();
    for (const privacy::masking::CliqueMember& member : clique.members) {
      one->members.push_back(member.id);
    }
    ASSIGN_OR_RETURN(one->contribution, ContributionOfSum(plan_, round(), total,
                                                          static_cast<uint32_t>(nodes_.size())));
    return absl::OkStatus();
  }

  const AttackedCluster& cluster_;
  const ReleaseTerms& terms_;
  const federation::LearnerPlan& plan_;
  federation::GlobalState state_;
  std::vector<std::unique_ptr<GuardedNode>> nodes_;
  std::vector<double> rates_;
  Releases releases_;
};

}  // namespace

absl::StatusOr<Releases> RunReleases(const AttackedCluster& cluster, const ReleaseTerms& terms) {
  return ReleasingCluster(cluster, terms).Run();
}

}  // namespace ruvd::bench
