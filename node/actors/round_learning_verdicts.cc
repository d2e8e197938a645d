// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of RoundLearning that judges the contributions of other members.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/verdict.h"
#include "federation/limits.h"
#include "node/actors/round_learning.h"
#include "node/actors/throttled_learning.h"
#include "node/log/log.h"
#include "node/sharing/shared_items.h"
#include "storage/reasons.h"

namespace ruvd::actors {
namespace {

absl::Status NotPublic(privacy::ConsentTier tier) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "a verdict is a statistic of lessons, which leaves only under the tier public, and "
               "this node shares under {}",
               TierName(tier));
}

absl::Status Skipped(uint64_t first, uint64_t last) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "rounds {} to {} ended before this node had time to judge them; lengthen "
               "federation.round_seconds on all nodes",
               first, last);
}

absl::Status SomeLeftOut(uint64_t round, const sharing::MeasuredVerdict& made) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "{} of {} contributions to round {} were not judged, because a node judges {} at "
               "most, and within the length of a round",
               made.left_out, made.left_out + made.verdict.gains.size(), round,
               limits::kMaxJudgedContributions);
}

}  // namespace

std::vector<federation::RoundContribution> RoundLearning::OthersOf(uint64_t round) const {
  std::vector<federation::RoundContribution> others;
  for (const federation::RoundContribution* one : rounds_->ContributionsOf(round)) {
    if (one->origin != options_.key->id()) {
      others.push_back(*one);
    }
  }
  return others;
}

bool RoundLearning::VerdictIsDue(const federation::GossipCore& core) {
  const uint64_t running = rounds_->now_round();
  if (!CountsQuality(learner_.plan->strategy) || running < 2 || verdicts_.tried + 1 >= running) {
    return false;
  }
  const uint64_t round = running - 1;
  if (core.consent() != privacy::ConsentTier::kPublic) {
    verdicts_.refusal = NotPublic(core.consent());
  } else if (!rounds_->HasOwnVerdict(round)) {
    return std::ranges::any_of(rounds_->ContributionsOf(round),
                               [&](const auto* one) { return one->origin != options_.key->id(); });
  }
  verdicts_.tried = round;
  return false;
}

void RoundLearning::MeasureVerdict(federation::GossipCore& core, Context& context) {
  const uint64_t round = rounds_->now_round() - 1;
  const uint64_t before = std::exchange(verdicts_.tried, round);
  verdicts_.refusal = sharing::CheckMayContribute(core.certificate());
  if (!verdicts_.refusal.ok()) {
    return;
  }
  if (before > 0 && before + 1 < round && !OthersOf(before + 1).empty()) {
    verdicts_.refusal = Skipped(before + 1, round - 1);
  }
  auto judged = std::make_shared<const sharing::RoundToJudge>(
      sharing::RoundToJudge{.plan = learner_.plan,
                            .round = round,
                            .base = rounds_->StateBefore(round).values,
                            .contributions = OthersOf(round)});
  using Made = absl::StatusOr<sharing::MeasuredVerdict>;
  auto made = std::make_shared<Made>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [judge = learner_.judge, contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, judged, made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        const absl::Status allowed = contributor->CheckVerdict(services, *judged->plan);
        *made = allowed.ok() ? judge->Judge(services, *judged) : Made(allowed);
      },
      [this, &core, round, changes = sharing_changes_, made](Context& own) {
        working_ = false;
        EndVerdict(round, changes, *std::move(made), core, own);
        return absl::OkStatus();
      });
  working_ = started.ok();
  if (!started.ok()) {
    LogError("a verdict was not begun: {} [{}]", MessageOf(started), ReasonOf(started));
  }
}

void RoundLearning::EndVerdict(uint64_t round, uint64_t sharing_changes,
                               absl::StatusOr<sharing::MeasuredVerdict> made,
                               federation::GossipCore& core, Context& context) {
  absl::Status given = made.status();
  if (made.ok() && MayNoLongerLeave(sharing_changes, made->contributors, core)) {
    given = Error(absl::StatusCode::kAborted, reasons::kChanged,
                  "consents or lessons changed while contributions were judged, so the verdict is "
                  "not offered; the next round gets another one");
  } else if (made.ok()) {
    given = OfferVerdict(round, *made, core, context);
    if (given.ok() && made->left_out > 0) {
      given = SomeLeftOut(round, *made);
    }
  }
  if (given.ok() || absl::IsCancelled(given)) {
    return;  // rounds that were skipped before are still in the status
  }
  LogDebug("the verdict on round {}: {} [{}]", round, MessageOf(given), ReasonOf(given));
  verdicts_.refusal = given;
}

absl::Status RoundLearning::OfferVerdict(uint64_t round, const sharing::MeasuredVerdict& made,
                                         federation::GossipCore& core, Context& context) {
  ASSIGN_OR_RETURN(federation::Actions offered,
                   core.OfferVerdict(round, EncodeVerdict(made.verdict, *learner_.plan), Now()));
  RETURN_IF_ERROR(PerformRecorded(std::move(offered), made.contributors, core, context));
  verdicts_.last_round = round;
  verdicts_.last_judged = static_cast<uint32_t>(made.verdict.gains.size());
  verdicts_.last_lessons = static_cast<uint32_t>(made.lessons);
  LogInfo("judged {} contribution(s) to round {} by {} lessons", made.verdict.gains.size(), round,
          made.lessons);
  return absl::OkStatus();
}

}  // namespace ruvd::actors
