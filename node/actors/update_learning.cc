// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/update_learning.h"

#include <optional>
#include <utility>

#include "base/status.h"
#include "node/actors/masked_options.h"
#include "node/log/log.h"
#include "node/sharing/shared_items.h"

namespace ruvd::actors {

UpdateLearning::UpdateLearning(const FederationActorOptions& options, sharing::OwnPatterns& own,
                               Perform perform,
                               std::function<std::vector<federation::Item>()> newest)
    : options_(options),
      own_(own),
      perform_(std::move(perform)),
      masked_(MaskedOptionsOf(options, own)),
      rounds_(options, {.newest = std::move(newest), .sums = [this] { return masked_.means(); }}) {}

absl::Status UpdateLearning::Restore() {
  rounds_.Restore();
  return absl::OkStatus();
}

void UpdateLearning::OnRestored(const federation::GossipCore&, Context& context) {
  rounds_.Run(context);
}

void UpdateLearning::OnItem(const federation::Item& item) {
  masked_.OnItem(item);
  inputs_changed_ |= item.kind == federation::ItemKind::kAdapterDelta;
}

void UpdateLearning::OnDropped(const federation::ItemDropped& dropped) {
  inputs_changed_ |= dropped.kind == federation::ItemKind::kAdapterDelta;  // it no longer counts
}

void UpdateLearning::OnWithdrawn(const federation::Item& item) {
  masked_.OnWithdrawn(item);
  if (item.kind == federation::ItemKind::kAdapterDelta) {
    rounds_.OnUpdateWithdrawn(item);
    inputs_changed_ = true;
  }
}

void UpdateLearning::ExcludeExpelled(const federation::GossipCore& core) {
  for (const privacy::NodeId& id : options_.model->Contributors()) {
    if (core.StandingOf(id) != federation::MemberStanding::kGood) {
      rounds_.RestartFromBase(id);
    }
  }
  inputs_changed_ |= rounds_.stale();
}

void UpdateLearning::OnPerformed(Context& context) {
  if (std::exchange(inputs_changed_, false)) {
    rounds_.Run(context);
  }
}

void UpdateLearning::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                            Context& context) {
  TickMasked(core, consent_since_ms, context);
  if (own_.delta_changed() && context.Now() >= next_offer_) {
    OfferOwnUpdate(core, context);
  }
  rounds_.RunIfDue(context);
}

void UpdateLearning::TickMasked(federation::GossipCore& core, int64_t consent_since_ms,
                                Context& context) {
  perform_(masked_.OnTick(core, consent_since_ms, Now()), context);
  if (const std::optional<privacy::NodeId> expelled = masked_.TakeExpelled()) {
    rounds_.RestartFromBase(*expelled);
  }
  if (masked_.TakeChanged()) {
    rounds_.Run(context);
  }
}

void UpdateLearning::OnConsent(federation::GossipCore& core, Context& context) {
  OfferOwnUpdate(core, context);
}

void UpdateLearning::OfferOwnUpdate(federation::GossipCore& core, Context& context) {
  next_offer_ = context.Now() + options_.round;
  // Wall milliseconds number the rounds: they grow across restarts without another durable
  // counter.
  const auto round = static_cast<uint64_t>(options_.clock->WallMillis());
  PerformOffer(own_.OfferDelta(round, core, Now()), context);
  if (core.consent() != privacy::ConsentTier::kDp) {
    return;
  }
  CountContributors(core, *options_.release);
  if (const absl::Status role = sharing::CheckMayContribute(core.certificate());
      !role.ok()) {  // the update would be charged although peers refuse it
    options_.release->RecordRefusal(role);
    return;
  }
  PerformOffer(own_.OfferNoised(round, *options_.release, core, Now()), context);
}

void UpdateLearning::PerformOffer(absl::StatusOr<federation::Actions> offer, Context& context) {
  if (offer.ok()) {
    perform_(*std::move(offer), context);
  } else {
    LogError("the own update could not be offered: {} [{}]", MessageOf(offer.status()),
             ReasonOf(offer.status()));
  }
}

void UpdateLearning::Describe(sharing::FederationView* view) {
  view->federated_adapter_version = rounds_.served_version();
  view->masked = masked_.View();
  view->last_round = rounds_.last();
  view->boundaries = options_.model->layout().boundaries;
}

}  // namespace ruvd::actors
