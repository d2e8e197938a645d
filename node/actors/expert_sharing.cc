// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/expert_sharing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/patterns/shared_expert.h"
#include "node/actors/log_failure.h"
#include "node/actors/throttled_learning.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/served_adapters.h"
#include "node/sharing/expert_trial.h"
#include "node/sharing/limits.h"
#include "node/sharing/shared_items.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::actors {
namespace {

// The message numbers standings from 1, because 0 is "not set".
cluster::v1::ExpertStanding WireStanding(sharing::ExpertStanding standing) {
  static_assert(static_cast<int>(sharing::ExpertStanding::kTrial) + 1 ==
                cluster::v1::EXPERT_STANDING_TRIAL);
  static_assert(static_cast<int>(sharing::ExpertStanding::kRatedBadly) + 1 ==
                cluster::v1::EXPERT_STANDING_RATED_BADLY);
  return static_cast<cluster::v1::ExpertStanding>(static_cast<int>(standing) + 1);
}

void LogVerdict(const sharing::PeerExperts::Trial& trial, const sharing::ExpertVerdict& verdict) {
  if (!verdict.why.empty()) {
    LogWarning("the expert of {} cannot be used: {}", ToHex(trial.origin).substr(0, 16),
               verdict.why);
  } else if (verdict.scored) {
    LogInfo(
        "expert of {}: {}; gain {:+.4f} on {} texts that choose it (standard error {:.4f}), "
        "general text {:.4f} to {:.4f}",
        ToHex(trial.origin).substr(0, 16), sharing::ExpertStandingName(verdict.standing),
        verdict.gain, verdict.texts, verdict.standard_error, verdict.general_before,
        verdict.general_after);
  }
}

// Returns this node's own item that peers can get; nullopt: none.
std::optional<federation::Item> OfferedItem(const federation::GossipCore& core,
                                            const privacy::NodeId& self) {
  for (federation::Item& item : core.Items()) {
    if (item.kind == federation::ItemKind::kExpert && item.origin == self) {
      return std::move(item);
    }
  }
  return std::nullopt;
}

// Returns whether peers can get this expert for as long as if it were offered now.
bool IsOffered(const std::optional<federation::Item>& offered,
               const federation::SharedExpert& expert, const federation::GossipCore& core,
               int64_t now_ms) {
  // An item expires with the certificate at the latest.
  const int64_t would_end_ms =
      std::min(now_ms + limits::kItemLifeMillis, core.certificate().not_after_ms);
  if (!offered || (offered->expires_ms <= now_ms + limits::kOfferAgainMillis &&
                   offered->expires_ms < would_end_ms)) {
    return false;
  }
  const auto known = federation::DecodeSharedExpert(AsBytes(*offered->payload));
  return known.ok() && known->version == expert.version && known->file == expert.file;
}

absl::Status NotLooked() {
  return Error(absl::StatusCode::kUnavailable, reasons::kCancelled,
               "this node has not looked yet what it could offer; ask again in a moment");
}

}  // namespace

ExpertSharing::ExpertSharing(const FederationActorOptions& options, sharing::OwnPatterns& own,
                             Perform perform)
    : options_(options), own_patterns_(own), perform_(std::move(perform)), made_(NotLooked()) {
  if (options.expert_trial != nullptr) {
    peers_.emplace(*options.learning.catalog, options.key->id());
  }
}

void ExpertSharing::OnItem(const federation::Item& item) {
  if (peers_) {
    peers_->Store(item);
  }
}

void ExpertSharing::OnGone(const Digest& item) {
  if (peers_) {
    peers_->Remove(item);
  }
}

void ExpertSharing::OnRated(const sharing::RatedUse& use) {
  if (peers_) {
    peers_->OnRated(use);
  }
}

void ExpertSharing::OnRestored(const federation::GossipCore& core) {
  if (!peers_) {
    return;
  }
  std::vector<federation::Item> experts = core.Items();
  std::erase_if(experts, [this](const federation::Item& item) {
    return item.kind != federation::ItemKind::kExpert || item.origin == options_.key->id();
  });
  // Ratings come first, so that an expert that users disliked does not serve again.
  if (!experts.empty() && options_.learning.trajectories != nullptr) {
    LogFailure("the ratings of peers' experts could not be read",
               options_.learning.trajectories->ForEachSince(
                   0, [this](const storage::Trajectory& trajectory) {
                     if (const auto use = sharing::RatedUseOf(trajectory)) {
                       peers_->OnRated(*use);
                     }
                     return true;
                   }));
  }
  for (const federation::Item& item : experts) {
    peers_->Store(item);
  }
}

void ExpertSharing::OnTick(federation::GossipCore& core, Context& context) {
  if (!peers_) {
    if (std::exchange(changed_, false)) {
      TakeBack(core, context);  // it was offered before the operator turned experts off
    }
    return;
  }
  if (!looking_ && MustLook(core)) {
    Look(core, context);
  }
  if (!judging_) {
    Judge(context);
  }
}

bool ExpertSharing::IsUnknown() const {
  return peers_ && absl::IsUnavailable(made_.status()) &&
         serving::ServedDeepVersion(*options_.learning.catalog) != 0;
}

bool ExpertSharing::MustLook(const federation::GossipCore& core) const {
  return changed_ || tier_ != core.consent() ||
         version_ != serving::ServedDeepVersion(*options_.learning.catalog) ||
         options_.clock->Now() >= next_look_;
}

// The wall clock may go back by days.
int64_t ExpertSharing::MonotonicMillis() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             options_.clock->Now().time_since_epoch())
      .count();
}

void ExpertSharing::OnSharingChanged() {
  changed_ = true;
  made_ = NotLooked();
}

// Work on the pool refers to nothing in this actor, because it outlives the actor after a forced
// stop.
void ExpertSharing::Look(federation::GossipCore& core, Context& context) {
  changed_ = false;
  tier_ = core.consent();
  const uint32_t served = serving::ServedDeepVersion(*options_.learning.catalog);
  if (served < std::exchange(version_, served)) {
    TakeBack(core, context);  // what was undone must not wait for the look
  }
  next_look_ = options_.clock->Now() + limits::kOwnPatternsLook;
  if (version_ == 0 && !made_.ok() && absl::IsNotFound(made_.status())) {
    return;  // as before
  }
  auto made = std::make_shared<absl::StatusOr<sharing::OwnExpert>>(absl::CancelledError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      // It trains nothing, so a pause of learning does not keep it from taking an expert back.
      [services = options_.learning, min_rating = options_.expert_trial->min_rating(), made] {
        *made = sharing::MakeOwnExpert(services, min_rating);
      },
      [this, &core, made](Context& own) {
        looking_ = false;
        EndLook(core, std::move(*made), own);
        return absl::OkStatus();
      });
  looking_ = started.ok();
  changed_ = !started.ok();
  LogFailure("it could not be looked what this node may offer as its expert", started);
}

void ExpertSharing::EndLook(federation::GossipCore& core, absl::StatusOr<sharing::OwnExpert> made,
                            Context& context) {
  if (!made.ok() && absl::IsCancelled(made.status())) {
    next_look_ = options_.clock->Now() + std::chrono::milliseconds(limits::kExpertLookMillis);
    return;
  }
  if (changed_) {
    return;  // a consent or a lesson was withdrawn meanwhile; the next tick looks again
  }
  if (!made.ok() && !absl::IsNotFound(made.status()) && made.status() != made_.status()) {
    LogInfo("this node offers no expert: {} [{}]", MessageOf(made.status()),
            ReasonOf(made.status()));
  }
  made_ = std::move(made);
  if (made_.ok()) {
    Offer(core, context);
  } else {
    TakeBack(core, context);
  }
}

// Consents may have changed since the look read them, before this actor hears of it.
bool ExpertSharing::MayOffer(const federation::GossipCore& core, federation::Instant now) const {
  return core.consent() == privacy::ConsentTier::kPublic &&
         sharing::CheckMayContribute(core.certificate()).ok() &&
         own_patterns_.MayShare(made_->contributors, core.consent(), now) &&
         made_->expert.version == serving::ServedDeepVersion(*options_.learning.catalog);
}

void ExpertSharing::Offer(federation::GossipCore& core, Context& context) {
  const federation::Instant now = federation::Instant::Of(*options_.clock);
  if (!MayOffer(core, now) ||
      IsOffered(OfferedItem(core, options_.key->id()), made_->expert, core, now.wall_ms)) {
    return;
  }
  absl::StatusOr<federation::Actions> offered = core.OfferExpert(made_->expert, now);
  LogFailure("this node's expert could not be offered", offered.status());
  if (!offered.ok()) {
    return;
  }
  perform_(own_patterns_.RecordContribution(*std::move(offered), made_->contributors, core),
           context);
  if (OfferedItem(core, options_.key->id())) {
    LogInfo("deep@{} of {} lessons is offered to peers as this node's expert",
            made_->expert.version, made_->expert.lessons);
  }
}

void ExpertSharing::TakeBack(federation::GossipCore& core, Context& context) {
  if (const auto offered = OfferedItem(core, options_.key->id())) {
    LogInfo("this node's expert is no longer offered to peers");
    perform_(core.WithdrawItems({{offered->id}}), context);
  }
}

void ExpertSharing::OnLessonsWithdrawn(federation::GossipCore& core, Context& context) {
  OnSharingChanged();
  TakeBack(core, context);
}

void ExpertSharing::Judge(Context& context) {
  const auto trial = peers_->NextTrial(MonotonicMillis());
  if (!trial) {
    return;
  }
  auto verdict =
      std::make_shared<absl::StatusOr<sharing::ExpertVerdict>>(absl::CancelledError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [judge = options_.expert_trial, services = options_.learning, throttle = options_.throttle,
       trial, verdict]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *verdict = judge->Judge(services, trial->origin, *trial->payload, trial->former_texts);
      },
      [this, trial, verdict](Context&) {
        judging_ = false;
        const int64_t now_ms = MonotonicMillis();
        if (verdict->ok()) {
          LogVerdict(*trial, **verdict);
          peers_->EndTrial(*trial, **verdict, now_ms);
          return absl::OkStatus();
        }
        if (!absl::IsCancelled(verdict->status())) {
          LogFailure("a peer's expert could not be judged", verdict->status());
        }
        peers_->Postpone(*trial, now_ms);
        return absl::OkStatus();
      });
  judging_ = started.ok();
  LogFailure("the trial of a peer's expert was not begun", started);
}

std::map<privacy::NodeId, cluster::v1::ExpertStatus> ExpertSharing::View(
    const federation::GossipCore& core) const {
  std::map<privacy::NodeId, cluster::v1::ExpertStatus> view;
  if (!peers_) {
    return view;
  }
  for (const auto& [origin, expert] : peers_->View()) {
    cluster::v1::ExpertStatus& status = view[origin];
    status.set_version(expert.version);
    status.set_lessons(expert.lessons);
    status.set_standing(WireStanding(expert.standing));
    status.set_why(expert.why);
    status.set_texts(expert.texts);
    status.set_gain(expert.gain);
  }
  const auto offered = OfferedItem(core, options_.key->id());
  const auto own = offered ? federation::DecodeSharedExpert(AsBytes(*offered->payload))
                           : absl::StatusOr<federation::SharedExpert>(absl::NotFoundError(""));
  cluster::v1::ExpertStatus& self = view[options_.key->id()];
  if (own.ok()) {
    self.set_version(own->version);
    self.set_lessons(own->lessons);
    self.set_standing(cluster::v1::EXPERT_STANDING_OFFERED);
    return view;
  }
  self.set_standing(cluster::v1::EXPERT_STANDING_NOT_OFFERED);
  const absl::Status may_contribute = sharing::CheckMayContribute(core.certificate());
  if (!made_.ok()) {
    self.set_why(MessageOf(made_.status()));
  } else if (core.consent() != privacy::ConsentTier::kPublic) {
    self.set_why("nothing leaves before `ruvd consent grant --tier public`");
  } else if (!may_contribute.ok()) {
    self.set_why(MessageOf(may_contribute));
  }
  return view;
}

}  // namespace ruvd::actors
