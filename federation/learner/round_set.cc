// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/round_set.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid, "{}", what);
}

}  // namespace

absl::Status CheckRoundContribution(const RoundContribution& one, const LearnerPlan& plan) {
  RETURN_IF_ERROR(CheckContribution(one.contribution, plan, std::numeric_limits<uint64_t>::max()));
  const size_t named = one.members.empty() ? 1 : one.members.size();
  if (named != one.contribution.members) {
    return Invalid(fmt::format("contribution of {} nodes comes from {}; a sum needs its set",
                               one.contribution.members, named));
  }
  return std::ranges::adjacent_find(one.members, std::greater_equal<>()) == one.members.end()
             ? absl::OkStatus()
             : Invalid("contribution names its members twice or out of order; sort them");
}

absl::Status CheckRoundVerdict(const RoundVerdict& verdict, const LearnerPlan& plan) {
  return CheckVerdict(verdict.verdict, plan, std::numeric_limits<uint64_t>::max());
}

}  // namespace ruvd::federation
