// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of RoundLearning that tells the operator what it does, and what it would give.

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "node/actors/round_learning.h"
#include "node/actors/throttled_learning.h"
#include "node/sharing/release_preview.h"

namespace ruvd::actors {

void RoundLearning::Preview(const federation::GossipCore& core, privacy::ConsentTier tier,
                            admin::v1::PreviewReleaseResponse preview,
                            const runtime::ReplyTo<admin::v1::PreviewReleaseResponse>& reply,
                            Context& context) {
  const uint64_t round = rounds_->now_round();
  auto base = std::make_shared<const federation::GlobalState>(rounds_->StateBefore(round));
  auto made =
      std::make_shared<absl::StatusOr<admin::v1::PreviewReleaseResponse>>(std::move(preview));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, round, base, tier,
       nodes = Contributors(core), made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        sharing::AddContribution(
            *contributor, services,
            {.plan = plan.get(), .round = round, .base = base.get(), .tier = tier, .nodes = nodes},
            &**made);
      },
      [reply, made](Context&) {
        reply.Send(std::move(*made));
        return absl::OkStatus();
      });
  if (!started.ok()) {
    reply.Send(started);
  }
}

admin::v1::RoundsStatus RoundLearning::View() {
  admin::v1::RoundsStatus view;
  const federation::LearnerPlan& plan = rounds_->plan();
  view.set_plan_id(ToHex(plan.Id()));
  view.set_frame_id(ToHex(plan.frame_id));
  view.set_round(rounds_->now_round());
  const federation::GlobalState& state = rounds_->StateBefore(rounds_->now_round());
  view.set_state_round(state.round);
  view.set_state_digest(ToHex(state.DigestOf(plan)));
  view.set_contributions(rounds_->contributions());
  view.set_own_contributions(rounds_->own_contributions());
  view.set_served_version(served_ == nullptr ? 0 : served_->version);
  view.set_last_round(last_round_);
  view.set_last_lessons(last_lessons_);
  view.set_last_epsilon(last_epsilon_);
  view.set_payload_bytes(payload_bytes_);
  if (verdict_) {
    view.set_held_back(!verdict_->serve);
    view.set_judged_lessons(static_cast<uint32_t>(verdict_->lessons));
    view.set_gain(verdict_->gain_over_none);
    view.set_standard_error(verdict_->standard_error_over_none);
    view.set_general_before(verdict_->general_before);
    view.set_general_after(verdict_->general_after);
  }
  if (!refusal_.ok() && !absl::IsCancelled(refusal_)) {
    view.set_refusal(MessageOf(refusal_));
    view.set_refusal_reason(ReasonOf(refusal_));
  }
  if (masked_) {
    masked_->Write(&view);
  }
  WriteVerdicts(&view);
  return view;
}

void RoundLearning::WriteVerdicts(admin::v1::RoundsStatus* view) {
  if (const federation::RoundReport* const report = rounds_->NewestReport()) {
    view->set_combined_round(report->round);
    view->set_verdicts(static_cast<uint32_t>(report->verdicts));
    view->set_combined_step(report->step);
    for (const federation::RoundReport::Part& part : report->parts) {
      admin::v1::RoundPart& shown = *view->add_parts();
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
  view->set_counts_verdicts(CountsQuality(learner_.plan->strategy));
  view->set_last_verdict_round(verdicts_.last_round);
  view->set_last_judged(verdicts_.last_judged);
  view->set_last_verdict_lessons(verdicts_.last_lessons);
  if (!verdicts_.refusal.ok()) {
    view->set_verdict_refusal(MessageOf(verdicts_.refusal));
    view->set_verdict_refusal_reason(ReasonOf(verdicts_.refusal));
  }
}

}  // namespace ruvd::actors
