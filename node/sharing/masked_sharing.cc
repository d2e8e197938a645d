// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/masked_sharing.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "node/log/log.h"
#include "node/sharing/own_patterns.h"
#include "node/sharing/refusal.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::sharing {
namespace {

int64_t MillisOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// Scales a default time to the configured period.
int64_t ShareOf(int64_t period_ms, int64_t default_ms) {
  return period_ms * default_ms / limits::kMaskedPeriodMillis;
}

federation::MaskedRoundsConfig RoundsOf(const MaskedSharingOptions& options,
                                        privacy::masking::MaskLayout layout) {
  const int64_t period_ms = MillisOf(options.period);
  return {.cluster = options.cluster,
          .layout = std::move(layout),
          .self = options.self,
          .period_ms = period_ms,
          .keys_ms = ShareOf(period_ms, limits::kMaskKeysMillis),
          .shares_ms = ShareOf(period_ms, limits::kMaskSharesMillis),
          .attempt_ms = ShareOf(period_ms, limits::kMaskAttemptMillis),
          .random = options.random};
}

absl::Status NothingToShare(const OwnCores& own) {
  if (own.left_out == 0) {
    return Error(
        absl::StatusCode::kNotFound, reasons::kNotFound,
        "nothing was learned yet that could be shared; give feedback on completions first");
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "each of the {} pattern(s) that could be shared contains lessons of a user who did "
               "not agree to the tier masked, or lessons whose user was not recorded; ask the "
               "users (ruvd consent allow), or let new feedback teach the patterns again",
               own.left_out);
}

absl::Status Waits(std::string_view why) {
  return absl::FailedPreconditionError(absl::string_view(why.data(), why.size()));
}

federation::BankedValues ByBank(const std::vector<float>& values, const UpdateLayout& layout) {
  federation::BankedValues banks;
  const auto count = static_cast<std::ptrdiff_t>(layout.values_per_bank());
  for (auto begin = values.begin(); begin != values.end(); begin += count) {
    banks.emplace_back(begin, begin + count);
  }
  return banks;
}

}  // namespace

MaskedSharing::MaskedSharing(MaskedSharingOptions options) : options_(std::move(options)) {
  absl::StatusOr<privacy::masking::MaskLayout> layout = options_.release->LayoutOfSums();
  absl::Status status = layout.status();
  if (layout.ok()) {
    layout_ = *layout;
    absl::StatusOr<federation::MaskedRounds> rounds =
        federation::MaskedRounds::Create(RoundsOf(options_, *std::move(layout)));
    status = rounds.status();
    if (rounds.ok()) {
      rounds_.emplace(*std::move(rounds));
    }
  }
  if (!status.ok()) {
    LogWarning("masked rounds are not followed: {} [{}]", MessageOf(status), ReasonOf(status));
    waits_ = status;
  }
  Load();
}

void MaskedSharing::Load() {
  if (options_.state == nullptr) {
    return;
  }
  absl::StatusOr<std::vector<MaskedMean>> means = LoadMaskedMeans(*options_.state);
  if (!means.ok()) {
    LogWarning("the saved masked sums are not used: {} [{}]", MessageOf(means.status()),
               ReasonOf(means.status()));
    return;
  }
  for (MaskedMean& mean : *means) {
    // A mean for another model, frame or rank cannot be used, and it would exclude the single
    // updates of its members.
    const absl::Status fits = federation::CheckAdapterUpdate(mean.update, RulesOf(options_.layout));
    if (fits.ok()) {
      means_.Add(std::move(mean));
    } else {
      LogInfo("the masked sum of round {} is no longer used: {}", mean.round, MessageOf(fits));
    }
  }
}

void MaskedSharing::Save() {
  changed_ = true;
  if (options_.state == nullptr) {
    return;
  }
  if (const absl::Status kept = StoreMaskedMeans(*options_.state, means_.all()); !kept.ok()) {
    LogWarning("masked sums are in use but were not saved, and would be lost at a restart: {} [{}]",
               MessageOf(kept), ReasonOf(kept));
  }
}

void MaskedSharing::OnItem(const federation::Item& item) {
  if (rounds_ && federation::IsMaskItem(item.kind)) {
    inbox_.push_back(item);
  }
}

void MaskedSharing::OnWithdrawn(const federation::Item& item) {
  if (rounds_ && federation::IsMaskItem(item.kind) && item.origin != options_.self) {
    rounds_->Refuse(item.origin);
  }
}

void MaskedSharing::DropExpelled(const federation::GossipCore& core) {
  std::set<privacy::NodeId> expelled;
  for (const auto& mean : means_.all()) {
    std::ranges::copy_if(
        mean->members, std::inserter(expelled, expelled.end()), [&](const privacy::NodeId& id) {
          return id != options_.self && core.StandingOf(id) != federation::MemberStanding::kGood;
        });
  }
  for (const privacy::NodeId& id : expelled) {
    means_.RemoveMember(id);
    expelled_ = id;
  }
  if (!expelled.empty()) {
    Save();
  }
}

federation::Actions MaskedSharing::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                                          federation::Instant now) {
  TickContext turn{.core = core, .consent_since_ms = consent_since_ms, .now = now};
  if (means_.Expire(now.wall_ms)) {
    Save();
  }
  DropExpelled(core);
  if (!rounds_) {
    return {};
  }
  // This also holds if the tier changed and changed back in between, because items sent under
  // another consent are withdrawn.
  if (core.consent() != privacy::ConsentTier::kMasked ||
      std::exchange(consent_since_ms_, consent_since_ms) != consent_since_ms) {
    rounds_->StopSharing();
  }
  Follow(turn);
  Announce(turn);
  return std::move(turn.actions);
}

void MaskedSharing::Follow(TickContext& turn) {
  if (rounds_->Due(turn.now)) {
    given_.clear();
    no_group_ = absl::OkStatus();
    const bool consented = turn.consent_since_ms <= rounds_->StartOf(rounds_->RoundAt(turn.now));
    Perform(rounds_->Begin(
                turn.core.Items(), options_.release->last_reservation(),
                [&](size_t members) { return consented && Participates(members, turn); }, turn.now),
            turn);
  }
  for (const federation::Item& item : std::exchange(inbox_, {})) {
    absl::StatusOr<federation::MaskedSteps> steps = rounds_->OnItem(item, turn.now);
    if (steps.ok()) {
      Perform(*std::move(steps), turn);
    } else {
      LogDebug("an item of a masked round has no effect: {}", MessageOf(steps.status()));
    }
  }
  Perform(rounds_->OnTick(turn.now), turn);
}

// Checks no more often than the time for which keys are awaited, because the check reads all
// patterns.
void MaskedSharing::Announce(TickContext& turn) {
  if (turn.core.consent() != privacy::ConsentTier::kMasked) {
    waits_ = Waits("the operator's tier is not masked");
    return;
  }
  if (!rounds_->MayAnnounce(turn.now) || turn.now.wall_ms < next_look_ms_) {
    return;
  }
  next_look_ms_ = turn.now.wall_ms + ShareOf(MillisOf(options_.period), limits::kMaskKeysMillis);
  const std::vector<federation::Member> members = turn.core.Members();
  const auto alive =
      static_cast<size_t>(std::ranges::count_if(members, &federation::Member::counts));
  if (Participates(std::clamp(alive, limits::kMinCliqueMembers, limits::kMaxCliqueMembers), turn)) {
    Offer(rounds_->Announce(), turn);
  }
}

bool MaskedSharing::Participates(size_t members, TickContext& turn) {
  bool refusal = false;
  waits_ = CheckMayParticipate(members, turn, &refusal);
  if (refusal || waits_.ok()) {
    options_.release->RecordRefusal(waits_);
  }
  return waits_.ok();
}

absl::Status MaskedSharing::CheckMayParticipate(size_t members, TickContext& turn,
                                                bool* refusal) const {
  if (turn.core.consent() != privacy::ConsentTier::kMasked || options_.consents == nullptr) {
    return Waits("the operator's tier is not masked");
  }
  if (!options_.release->Due()) {
    return Waits("the time between two charges (privacy.release_seconds) is not over");
  }
  *refusal = true;
  RETURN_IF_ERROR(CheckMayContribute(turn.core.certificate()));
  RETURN_IF_ERROR(options_.release->CheckMasked(members));
  ASSIGN_OR_RETURN(const OwnCores own, options_.next_update(turn.now));
  if (own.update.banks.empty()) {
    *refusal = own.left_out > 0;
    return NothingToShare(own);
  }
  *refusal = false;
  const MaskedMean* const newest = means_.Of(options_.self);
  return newest != nullptr && newest->own == own.patterns
             ? Waits(
                   "this node's update is of the same patterns as in its present sum; new feedback "
                   "changes it")
             : absl::OkStatus();
}

// Carries out the steps; giving a share leads to further steps.
void MaskedSharing::Perform(federation::MaskedSteps steps, TickContext& turn) {
  std::deque<federation::MaskedStep> waiting(std::make_move_iterator(steps.begin()),
                                             std::make_move_iterator(steps.end()));
  while (!waiting.empty()) {
    federation::MaskedStep step = std::move(waiting.front());
    waiting.pop_front();
    if (auto* const offer = std::get_if<federation::OfferMaskItem>(&step)) {
      Offer(std::move(*offer), turn);
    } else if (const auto* const wanted = std::get_if<federation::MaskInputWanted>(&step)) {
      absl::StatusOr<federation::MaskedSteps> more = Answer(*wanted, turn);
      if (more.ok()) {
        std::ranges::move(*more, std::back_inserter(waiting));
      }
    } else if (const auto* const refused = std::get_if<federation::MaskMemberRefused>(&step)) {
      LogInfo("node {} has no part in masked round {}: {} [{}]",
              ToHex(refused->member).substr(0, 16), rounds_->round(), MessageOf(refused->status),
              ReasonOf(refused->status));
    } else if (auto* const ended = std::get_if<federation::MaskedRoundEnded>(&step)) {
      End(std::move(*ended), turn);
    }
  }
}

void MaskedSharing::Offer(federation::OfferMaskItem offer, TickContext& turn) {
  absl::StatusOr<federation::Actions> offered =
      turn.core.OfferMasked(offer.kind, rounds_->round(), std::move(offer.payload), turn.now);
  if (!offered.ok()) {
    LogWarning("this node drops out of masked round {}: {} [{}]", rounds_->round(),
               MessageOf(offered.status()), ReasonOf(offered.status()));
    rounds_->StopSharing();
    return;
  }
  std::ranges::move(*offered, std::back_inserter(turn.actions));
}

absl::StatusOr<federation::MaskedSteps> MaskedSharing::Answer(
    const federation::MaskInputWanted& wanted, TickContext& turn) {
  if (turn.core.consent() != privacy::ConsentTier::kMasked || options_.consents == nullptr) {
    return Waits("the operator's tier is not masked");
  }
  // The update is read again now, so that it excludes users who withdrew a consent since the key
  // was given.
  ASSIGN_OR_RETURN(OwnCores own, options_.next_update(turn.now));
  if (own.update.banks.empty()) {
    absl::Status nothing = NothingToShare(own);
    options_.release->RecordRefusal(nothing);
    return nothing;
  }
  ASSIGN_OR_RETURN(
      privacy::masking::MaskInput input,
      options_.release->ReleaseMasked(
          std::move(own.update), own.contributors,
          options_.consents->ForRelease(privacy::ConsentTier::kMasked, turn.now.wall_ms),
          wanted.set));
  given_[wanted.attempt] = std::move(own.patterns);
  absl::StatusOr<federation::MaskedSteps> steps =
      rounds_->SubmitInput(rounds_->round(), wanted.attempt, std::move(input), turn.now);
  if (!steps.ok()) {
    LogError("a share was charged but could not be sent: {} [{}]", MessageOf(steps.status()),
             ReasonOf(steps.status()));
  }
  return steps;
}

void MaskedSharing::End(federation::MaskedRoundEnded ended, TickContext& turn) {
  const uint64_t round = rounds_->round();
  const absl::Status status = ended.outcome.status();
  if (status.ok()) {
    Take(*ended.outcome, turn.now);
  } else if (ended.gave) {
    LogWarning("{} [{}]", MessageOf(status), ReasonOf(status));
  } else {
    LogDebug("masked round {}: {}", round, MessageOf(status));
    no_group_ = ended.group == 0 ? status : no_group_;
  }
  // A round has several groups; the view shows the group of this node.
  if (!ended.gave && (!status.ok() || own_round_ == round)) {
    return;
  }
  own_round_ = ended.gave ? round : own_round_;
  view_.set_last_round(round);
  view_.set_last_group(static_cast<uint32_t>(ended.group));
  view_.set_last_attempt(status.ok() ? ended.outcome->attempt + 1u
                                     : uint32_t{limits::kMaxMaskAttempts});
  view_.set_last_members(status.ok() ? static_cast<uint32_t>(ended.outcome->weight()) : 0);
  view_.set_last_own(status.ok() && ended.outcome->set.Find(options_.self) != nullptr);
  WriteRefusal(status, &view_);
}

void MaskedSharing::Take(const federation::MaskedOutcome& outcome, federation::Instant now) {
  MaskedMean mean{
      .name = outcome.set.SetHash(),
      .round = outcome.set.round.round,
      .expires_ms = now.wall_ms + limits::kItemLifeMillis,
      .members = {},
      .update = UpdateOfBanks(options_.layout, ByBank(outcome.Mean(layout_.grid), options_.layout),
                              /*examples=*/0),
      .own = {}};
  for (const privacy::masking::CliqueMember& member : outcome.set.members) {
    mean.members.push_back(member.id);
  }
  if (outcome.set.Find(options_.self) != nullptr) {
    mean.own = given_[outcome.attempt];
  }
  const size_t members = mean.members.size();
  if (means_.Add(std::move(mean))) {
    LogInfo("masked round {} produced the sum of {} nodes in attempt {}", outcome.set.round.round,
            members, outcome.attempt + 1);
    Save();
  }
}

admin::v1::MaskedStatus MaskedSharing::View() const {
  admin::v1::MaskedStatus view = view_;
  if (rounds_) {
    view.set_round(rounds_->round());
    view.set_next_ms(rounds_->StartOf(view.round() + 1));
  }
  // Without a group this node would take part, but other members are missing.
  const absl::Status& waits = waits_.ok() ? no_group_ : waits_;
  view.set_waits(waits.ok() ? "" : MessageOf(waits));
  view.set_waits_reason(waits.ok() ? "" : ReasonOf(waits));
  view.set_sums(means_.all().size());
  return view;
}

}  // namespace ruvd::sharing
