// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/round_release.h"

#include <fmt/format.h>

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

constexpr int64_t kMillisPerSecond = 1000;

absl::Status ChargedBefore(uint64_t round) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kPrivacyBudgetSpent,
               "this node was charged for round {} already, and its sample is released only once; "
               "it takes part in the next round",
               round);
}

}  // namespace

uint64_t LedgerRoundOf(const federation::LearnerPlan& plan, uint64_t round) {
  return round * static_cast<uint64_t>(plan.round_ms) / static_cast<uint64_t>(kMillisPerSecond);
}

absl::Status CheckNotCharged(const federation::LearnerPlan& plan, uint64_t round,
                             uint64_t newest_charged, int64_t now_ms) {
  const int64_t now = now_ms / kMillisPerSecond;
  if (std::cmp_greater(newest_charged, now)) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
        "the privacy ledger has a charge for a round that begins {} s from now, and rounds "
        "are charged in their order; nothing with noise is offered until then: correct the "
        "clock if it is wrong",
        newest_charged - static_cast<uint64_t>(now));
  }
  return newest_charged >= LedgerRoundOf(plan, round) ? ChargedBefore(round) : absl::OkStatus();
}

privacy::UnitReleaseTerms TermsOfRound(const federation::LearnerPlan& plan, uint64_t round,
                                       const LessonSampling& sampling,
                                       const privacy::UnitBudget& budget, std::string scope) {
  return {.scope = std::move(scope),
          .unit = plan.unit,
          .grid = plan.grid,
          .sampling_rate = sampling.rate,
          .delta = budget.delta,
          .round = LedgerRoundOf(plan, round),
          .oldest_joined = sampling.oldest_joined,
          .subject = fmt::format("round {}", round)};
}

absl::StatusOr<privacy::PreparedUnits> PayForSum(const federation::LearnerPlan& plan,
                                                 PreparedSum sum,
                                                 const privacy::UnitReleaseTerms& terms,
                                                 uint64_t newest_charged,
                                                 const privacy::ReleaseGuards& guards) {
  RETURN_IF_ERROR(CheckNotCharged(plan, sum.round, newest_charged, guards.now_ms));
  return PrepareUnits(terms, guards, sum.sum, sum.sampling.contributors);
}

absl::StatusOr<NoisedShare> NoiseShare(const federation::LearnerPlan& plan, const PreparedSum& sum,
                                       const privacy::masking::Clique& clique,
                                       const privacy::UnitReleaseTerms& terms,
                                       uint64_t newest_charged,
                                       const privacy::ReleaseGuards& guards) {
  RETURN_IF_ERROR(CheckNotCharged(plan, sum.round, newest_charged, guards.now_ms));
  ASSIGN_OR_RETURN(privacy::NoisedUnitShare share,
                   NoiseUnitShare(terms, guards, sum.sum, sum.sampling.contributors,
                                  federation::LayoutOfSums(plan), clique));
  return NoisedShare{.input = std::move(share.input),
                     .charge = std::move(share.charge),
                     .lessons = sum.sampling.names.size()};
}

absl::StatusOr<uint64_t> PayForShare(const federation::LearnerPlan& plan, const PreparedSum& sum,
                                     const privacy::LedgerCharge& charge,
                                     const privacy::UnitReleaseTerms& terms,
                                     uint64_t newest_charged,
                                     const privacy::ReleaseGuards& guards) {
  RETURN_IF_ERROR(CheckNotCharged(plan, sum.round, newest_charged, guards.now_ms));
  return PayForUnitShare(terms, guards, sum.sum, sum.sampling.contributors, charge);
}

}  // namespace ruvd::sharing
