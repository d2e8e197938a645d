// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of NodeRounds that judges the contributions of other members, and its view.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/verdict.h"
#include "federation/limits.h"
#include "node/log/log.h"
#include "node/sharing/node_rounds.h"
#include "node/sharing/refusal.h"
#include "node/sharing/shared_items.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
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

absl::Status SomeLeftOut(uint64_t round, const MeasuredVerdict& made) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "{} of {} contributions to round {} were not judged, because a node judges {} at "
               "most, and within the length of a round",
               made.left_out, made.left_out + made.verdict.gains.size(), round,
               limits::kMaxJudgedContributions);
}

}  // namespace

std::vector<federation::RoundContribution> NodeRounds::OthersOf(uint64_t round) const {
  std::vector<federation::RoundContribution> others;
  for (const federation::RoundContribution* one : rounds_.ContributionsOf(round)) {
    if (one->origin != options_.self) {
      others.push_back(*one);
    }
  }
  return others;
}

bool NodeRounds::VerdictIsDue(const federation::GossipCore& core) {
  const uint64_t running = rounds_.now_round();
  if (!CountsQuality(options_.plan->strategy) || running < 2 || verdicts_.tried + 1 >= running) {
    return false;
  }
  const uint64_t round = running - 1;
  if (core.consent() != privacy::ConsentTier::kPublic) {
    verdicts_.refusal = NotPublic(core.consent());
  } else if (!rounds_.HasOwnVerdict(round)) {
    return std::ranges::any_of(rounds_.ContributionsOf(round),
                               [&](const auto* one) { return one->origin != options_.self; });
  }
  verdicts_.tried = round;
  return false;
}

std::optional<RoundWork> NodeRounds::MeasureVerdict(const federation::GossipCore& core) {
  const uint64_t round = rounds_.now_round() - 1;
  const uint64_t before = std::exchange(verdicts_.tried, round);
  verdicts_.refusal = CheckMayContribute(core.certificate());
  if (!verdicts_.refusal.ok()) {
    return std::nullopt;
  }
  if (before > 0 && before + 1 < round && !OthersOf(before + 1).empty()) {
    verdicts_.refusal = Skipped(before + 1, round - 1);
  }
  return VerdictWork{.judged = std::make_shared<const RoundToJudge>(
                         RoundToJudge{.plan = options_.plan,
                                      .round = round,
                                      .base = rounds_.StateBefore(round).values,
                                      .contributions = OthersOf(round)}),
                     .changes = sharing_changes_};
}

RoundsOutput NodeRounds::EndVerdict(const VerdictWork& work, absl::StatusOr<MeasuredVerdict> made,
                                    federation::GossipCore& core, federation::Instant now) {
  working_ = false;
  RoundsOutput output;
  const uint64_t round = work.judged->round;
  absl::Status given = made.status();
  if (made.ok() && MayNoLongerLeave(work.changes, made->contributors, core)) {
    given = Error(absl::StatusCode::kAborted, reasons::kChanged,
                  "consents or lessons changed while contributions were judged, so the verdict is "
                  "not offered; the next round gets another one");
  } else if (made.ok()) {
    const absl::Status some = made->left_out > 0 ? SomeLeftOut(round, *made) : absl::OkStatus();
    given = OfferVerdict(round, *std::move(made), core, now, &output);
    given.Update(some);
  }
  if (given.ok() || absl::IsCancelled(given)) {
    return output;  // rounds that were skipped before are still in the status
  }
  LogDebug("the verdict on round {}: {} [{}]", round, MessageOf(given), ReasonOf(given));
  verdicts_.refusal = given;
  return output;
}

absl::Status NodeRounds::OfferVerdict(uint64_t round, MeasuredVerdict made,
                                      federation::GossipCore& core, federation::Instant now,
                                      RoundsOutput* output) {
  ASSIGN_OR_RETURN(federation::Actions offered,
                   core.OfferVerdict(round, EncodeVerdict(made.verdict, *options_.plan), now));
  RETURN_IF_ERROR(Record(std::move(offered), std::move(made.contributors), core, output));
  verdicts_.last_round = round;
  verdicts_.last_judged = static_cast<uint32_t>(made.verdict.gains.size());
  verdicts_.last_lessons = static_cast<uint32_t>(made.lessons);
  LogInfo("judged {} contribution(s) to round {} by {} lessons", made.verdict.gains.size(), round,
          made.lessons);
  return absl::OkStatus();
}

void NodeRounds::Write(cluster::v1::RoundsStatus* view) {
  const federation::LearnerPlan& plan = *options_.plan;
  view->set_plan_id(ToHex(plan.Id()));
  view->set_frame_id(ToHex(plan.frame_id));
  view->set_round(rounds_.now_round());
  const federation::GlobalState& state = rounds_.StateBefore(rounds_.now_round());
  view->set_state_round(state.round);
  view->set_state_digest(ToHex(state.DigestOf(plan)));
  view->set_contributions(rounds_.contributions());
  view->set_own_contributions(rounds_.own_contributions());
  view->set_last_round(last_round_);
  view->set_last_lessons(last_lessons_);
  view->set_last_epsilon(last_epsilon_);
  view->set_payload_bytes(payload_bytes_);
  if (!absl::IsCancelled(refusal_)) {
    WriteRefusal(refusal_, view);
  }
  if (masked_) {
    masked_->Write(view);
  }
  WriteVerdicts(view);
}

void NodeRounds::WriteVerdicts(cluster::v1::RoundsStatus* view) {
  if (const federation::RoundReport* const report = rounds_.NewestReport()) {
    view->set_combined_round(report->round);
    view->set_verdicts(static_cast<uint32_t>(report->verdicts));
    view->set_combined_step(report->step);
    for (const federation::RoundReport::Part& part : report->parts) {
      cluster::v1::RoundPart& shown = *view->add_parts();
      shown.set_origin(ToHex(part.origin));
      shown.set_members(static_cast<uint32_t>(part.members));
      shown.set_weight(part.weight);
      shown.set_norm(part.norm);
      shown.set_cosine(part.cosine);
      shown.set_judges(static_cast<uint32_t>(part.judges));
      shown.set_left_out(part.left_out);
      shown.set_refusal(part.refused.ok() ? "" : MessageOf(part.refused));
    }
  }
  view->set_counts_verdicts(CountsQuality(options_.plan->strategy));
  view->set_last_verdict_round(verdicts_.last_round);
  view->set_last_judged(verdicts_.last_judged);
  view->set_last_verdict_lessons(verdicts_.last_lessons);
  if (!verdicts_.refusal.ok()) {
    view->set_verdict_refusal(MessageOf(verdicts_.refusal));
    view->set_verdict_refusal_reason(ReasonOf(verdicts_.refusal));
  }
}

}  // namespace ruvd::sharing
