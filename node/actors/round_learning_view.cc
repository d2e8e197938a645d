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
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::actors {

void RoundLearning::Preview(const federation::GossipCore& core, privacy::ConsentTier tier,
                            privacy::v1::PreviewReleaseResponse preview,
                            const runtime::ReplyTo<privacy::v1::PreviewReleaseResponse>& reply,
                            Context& context) {
  const sharing::ContributionWork work = rounds_->WorkUnder(core, tier);
  auto made =
      std::make_shared<absl::StatusOr<privacy::v1::PreviewReleaseResponse>>(std::move(preview));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, work, made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        sharing::AddContribution(*contributor, services,
                                 {.plan = plan.get(),
                                  .round = work.round,
                                  .base = work.base.get(),
                                  .tier = work.tier,
                                  .nodes = work.nodes},
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

cluster::v1::RoundsStatus RoundLearning::View() {
  cluster::v1::RoundsStatus view;
  rounds_->Write(&view);
  view.set_served_version(served_ == nullptr ? 0 : served_->version);
  if (verdict_) {
    view.set_held_back(!verdict_->serve);
    view.set_judged_lessons(static_cast<uint32_t>(verdict_->lessons));
    view.set_gain(verdict_->gain_over_none);
    view.set_standard_error(verdict_->standard_error_over_none);
    view.set_general_before(verdict_->general_before);
    view.set_general_after(verdict_->general_after);
  }
  return view;
}

}  // namespace ruvd::actors
