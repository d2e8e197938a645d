// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/ledger/cohort_ledger.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();

// Returns the epsilon of what was spent together with a cost; `delta` is in range.
double EpsilonWith(dp::RdpCurve spent, const dp::RdpCurve& cost, double delta) {
  spent += cost;
  const absl::StatusOr<dp::RdpBound> bound = dp::EpsilonOf(spent, delta);
  return bound.ok() ? bound->value : std::numeric_limits<double>::infinity();
}

}  // namespace

absl::Status CohortLedger::CheckRound(uint64_t round, uint64_t oldest) const {
  if (round == 0 || round >= limits::kMaxRound || oldest > round || round < newest_round_) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "round {} with units that joined from round {} on cannot be charged after round "
                 "{}; charge rounds in their order, and correct the clock if it went back",
                 round, oldest, newest_round_);
  }
  return absl::OkStatus();
}

void CohortLedger::AddCost(uint64_t first, uint64_t last, const dp::RdpCurve& cost) {
  Step& from = steps_[first];
  Step& behind = steps_[last + 1];
  for (size_t i = 0; i < dp::RdpCurve::kOrders; ++i) {
    from.q32[i] += cost.q32[i];
    behind.q32[i] -= cost.q32[i];
  }
}

void CohortLedger::AddBesides(uint64_t round, const dp::RdpCurve& cost) {
  AddCost(0, round, cost);
}

absl::Status CohortLedger::Add(uint64_t round, uint64_t oldest, const dp::RdpCurve& cost) {
  RETURN_IF_ERROR(CheckRound(round, oldest));
  AddCost(oldest, round, cost);
  if (round > newest_round_) {
    ++steps_[oldest].rounds;
    --steps_[round + 1].rounds;
    newest_round_ = round;
    newest_from_ = oldest;
  } else if (oldest < newest_from_) {
    ++steps_[oldest].rounds;
    --steps_[newest_from_].rounds;
    newest_from_ = oldest;
  }
  retired_before_ = std::max(retired_before_, oldest);
  return absl::OkStatus();
}

void CohortLedger::Visit(uint64_t first, uint64_t last,
                         const std::function<bool(const Cohorts&)>& visitor) const {
  Step sum;
  Cohorts cohorts;
  const auto show = [&](uint64_t end) {
    cohorts.last = std::min(end, last);
    if (cohorts.last < std::max(cohorts.first, first)) {
      return true;
    }
    for (size_t i = 0; i < dp::RdpCurve::kOrders; ++i) {
      cohorts.spent.q32[i] = static_cast<uint64_t>(std::min<dp::Uint128>(sum.q32[i], kForEver));
    }
    cohorts.spent += for_all_;
    cohorts.rounds = sum.rounds;
    cohorts.first = std::max(cohorts.first, first);
    return visitor(cohorts);
  };
  for (const auto& [joined, step] : steps_) {
    if (joined > 0 && !show(joined - 1)) {
      return;
    }
    if (joined > last) {
      return;
    }
    std::ranges::transform(sum.q32, step.q32, sum.q32.begin(), std::plus<>());
    sum.rounds += step.rounds;
    cohorts.first = joined;
  }
  show(kForEver);
}

absl::Status CohortLedger::Spent(const Cohorts& cohorts, double after) const {
  const bool whole = budget_.unit == PrivacyUnit::kNode;
  const std::string spender =
      whole ? "this node"
            : fmt::format("a {} that joined in round {}", UnitName(budget_.unit), cohorts.first);
  return Error(absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent,
               "this release would take what {} has spent from epsilon {:.3f} to {:.3f} at delta "
               "{:.1e}, above the budget of {:.3f}; nothing was released. What is spent does not "
               "come back: {}add noise, or set a larger {}",
               spender, EpsilonWith(cohorts.spent, {}, budget_.delta), after, budget_.delta,
               budget_.epsilon, whole ? "" : "leave out units that joined earlier, ", budget_.key);
}

absl::Status CohortLedger::CheckCohorts(uint64_t first, uint64_t last,
                                        const dp::RdpCurve& cost) const {
  RETURN_IF_ERROR(dp::EpsilonOf(cost, budget_.delta).status());
  absl::Status status;
  Visit(first, last, [&](const Cohorts& cohorts) {
    const double after = EpsilonWith(cohorts.spent, cost, budget_.delta);
    status = after <= budget_.epsilon ? absl::OkStatus() : Spent(cohorts, after);
    return status.ok();
  });
  return status;
}

absl::Status CohortLedger::Check(uint64_t round, uint64_t oldest, const dp::RdpCurve& cost) const {
  RETURN_IF_ERROR(CheckRound(round, oldest));
  return CheckCohorts(oldest, round, cost);
}

absl::Status CohortLedger::CheckForAll(const dp::RdpCurve& cost) const {
  return CheckCohorts(0, kForEver, cost);
}

bool CohortLedger::MayTakePart(const Cohorts& cohorts, uint64_t round,
                               const dp::RdpCurve& cost) const {
  const bool counted = round == newest_round_ && cohorts.first >= newest_from_;
  const uint32_t rounds = counted ? cohorts.rounds : cohorts.rounds + 1;
  return rounds <= budget_.rounds &&
         EpsilonWith(cohorts.spent, cost, budget_.delta) <= budget_.epsilon;
}

uint64_t CohortLedger::OldestEligible(uint64_t round, const dp::RdpCurve& cost) const {
  uint64_t oldest = retired_before_;
  Visit(retired_before_, round, [&](const Cohorts& cohorts) {
    oldest = MayTakePart(cohorts, round, cost) ? oldest : cohorts.last + 1;
    return true;
  });
  return oldest;
}

uint32_t CohortLedger::RoundsTaken(uint64_t joined) const {
  uint32_t rounds = 0;
  Visit(joined, joined, [&rounds](const Cohorts& cohorts) {
    rounds = cohorts.rounds;
    return false;
  });
  return rounds;
}

absl::StatusOr<double> CohortLedger::EpsilonOfCohort(uint64_t joined, double delta) const {
  dp::RdpCurve spent;
  Visit(joined, joined, [&spent](const Cohorts& cohorts) {
    spent = cohorts.spent;
    return false;
  });
  ASSIGN_OR_RETURN(const dp::RdpBound bound, dp::EpsilonOf(spent, delta));
  return bound.value;
}

absl::StatusOr<double> CohortLedger::LargestEpsilon(double delta) const {
  RETURN_IF_ERROR(dp::CheckDelta(delta));
  double largest = 0;
  Visit(0, kForEver, [&](const Cohorts& cohorts) {
    largest = std::max(largest, EpsilonWith(cohorts.spent, {}, delta));
    return true;
  });
  return largest;
}

}  // namespace ruvd::privacy
