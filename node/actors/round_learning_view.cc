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
  auto made = std::make_shared<absl::StatusOr<admin::v1::PreviewReleaseResponse>>(preview);
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
        reply.Send(*std::move(made));
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
  return view;
}

}  // namespace ruvd::actors
