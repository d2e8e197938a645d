// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of LocalContributor for masked sums: a sum is made without noise, and noised and charged
// for once its clique is known.

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/sharing/local_contributor.h"
#include "privacy/reasons.h"
#include "storage/consent/consent_book.h"

namespace ruvd::sharing {
namespace {

using federation::LearnerPlan;
using privacy::ConsentTier;

absl::Status NotMasked(ConsentTier tier) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a share of a masked sum cannot be made under the tier {}; consent to the tier "
               "masked",
               TierName(tier));
}

absl::Status NoLesson() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "there is no lesson that may take part under the tier masked; add texts with `ruvd "
               "learn add --tier`, give feedback, or ask the users to allow it");
}

}  // namespace

absl::StatusOr<LessonSampling> LocalContributor::PlanMasked(
    const learning::LearningServices& services, const ContributionRequest& request) const {
  if (request.tier != ConsentTier::kMasked) {
    return NotMasked(request.tier);
  }
  ASSIGN_OR_RETURN(Sampling sampling, Plan(services, request));
  if (sampling.names.empty()) {
    return NoLesson();
  }
  return sampling;
}

absl::Status LocalContributor::CheckLessons(const learning::LearningServices& services,
                                            const ContributionRequest& request) const {
  return PlanMasked(services, request).status();
}

absl::StatusOr<PreparedSum> LocalContributor::MakeSum(const learning::LearningServices& services,
                                                      const ContributionRequest& request) const {
  ASSIGN_OR_RETURN(Sampling sampling, PlanMasked(services, request));
  ASSIGN_OR_RETURN(privacy::UnitSum sum, SumOf(services, request, sampling));
  return PreparedSum{
      .round = request.round, .sum = std::move(sum), .sampling = std::move(sampling)};
}

template <typename Release>
auto LocalContributor::WithShareGuards(const learning::LearningServices& services,
                                       const LearnerPlan& plan, const PreparedSum& sum,
                                       Release release) const
    -> decltype(release(std::declval<const privacy::UnitReleaseTerms&>(),
                        std::declval<const privacy::ReleaseGuards&>())) {
  const ContributionRequest request{
      .plan = &plan, .round = sum.round, .tier = ConsentTier::kMasked};
  RETURN_IF_ERROR(Check(plan, request.tier));
  RETURN_IF_ERROR(RequireLearning(services));
  RETURN_IF_ERROR(CheckUnchanged(services, request, sum.sampling));
  ASSIGN_OR_RETURN(const privacy::UnitReleaseTerms terms, TermsOf(request, sum.sampling));
  const int64_t now_ms = services.clock->WallMillis();
  const privacy::ConsentRegister consents =
      services.consents->ForRelease(ConsentTier::kMasked, now_ms);
  return release(terms, privacy::ReleaseGuards{.policy = options_.policy,
                                               .consents = consents,
                                               .node_tier = request.tier,
                                               .ledger = *options_.ledger,
                                               .random = options_.random,
                                               .now_ms = now_ms});
}

absl::StatusOr<NoisedShare> LocalContributor::NoiseShare(
    const learning::LearningServices& services, const LearnerPlan& plan, const PreparedSum& sum,
    const privacy::masking::Clique& clique) const {
  return WithShareGuards(
      services, plan, sum,
      [&](const privacy::UnitReleaseTerms& terms, const privacy::ReleaseGuards& guards) {
        return sharing::NoiseShare(plan, sum, clique, terms, NewestCharged(plan), guards);
      });
}

absl::StatusOr<uint64_t> LocalContributor::PayForShare(const learning::LearningServices& services,
                                                       const LearnerPlan& plan,
                                                       const PreparedSum& sum,
                                                       const privacy::LedgerCharge& charge) const {
  return WithShareGuards(
      services, plan, sum,
      [&](const privacy::UnitReleaseTerms& terms, const privacy::ReleaseGuards& guards) {
        return sharing::PayForShare(plan, sum, charge, terms, NewestCharged(plan), guards);
      });
}

uint64_t LocalContributor::last_reservation() const {
  return options_.ledger == nullptr ? 0 : options_.ledger->head().sequence;
}

}  // namespace ruvd::sharing
