// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/gossip_actor.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/actors/expert_sharing.h"
#include "node/actors/log_failure.h"
#include "node/actors/pattern_trials.h"
#include "node/actors/round_learning.h"
#include "node/log/log.h"
#include "node/log/log_limit.h"
#include "node/sharing/limits.h"
#include "node/sharing/link_sinks.h"
#include "node/sharing/own_patterns.h"
#include "node/sharing/own_withdrawals.h"
#include "node/sharing/peer_patterns.h"
#include "node/sharing/refusal.h"
#include "node/sharing/release_preview.h"
#include "node/sharing/shared_item_log.h"
#include "node/sharing/shared_items.h"
#include "node/sharing/trust_records.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::actors {
namespace {

using Message = GossipMessage;

constexpr Duration kTick = std::chrono::milliseconds(200);
constexpr int64_t kConsentCheckMillis = 60'000;

class GossipActor final : public runtime::Actor<Message> {
 public:
  explicit GossipActor(const FederationActorOptions& options)
      : options_(options),
        trust_(options.trust),
        peer_patterns_(*options.patterns, options.frame, options.key->id(),
                       {.quality = options.pattern_quality, .examples = options.public_examples}),
        own_patterns_(*options.patterns, options.frame, options.key->id(), options.consents,
                      options.public_examples, options.releases),
        withdrawals_(*options.key, options.withdrawals),
        trials_(options_, peer_patterns_),
        experts_(options_, own_patterns_, Performer()),
        shared_items_(*options.consent),
        sinks_(*options.clock),
        refusals_(*options.clock, limits::kLinkLogLines, limits::kLinkLogPeriod) {
    if (options_.rounds) {
      rounds_.emplace(options_, own_patterns_, Performer());
    }
  }

  absl::Status OnStart(Context& context) override {
    // Every life of this actor counts as a boot, because sequence numbers of a boot are never
    // reused.
    federation::GossipConfig gossip = options_.gossip;
    if (options_.certificate) {
      gossip.certificate = options_.certificate();
    }
    ASSIGN_OR_RETURN(gossip.boot_counter, options_.next_boot());
    ASSIGN_OR_RETURN(core_, federation::GossipCore::Create(std::move(gossip), *options_.key,
                                                           privacy::SecureRandomBytes,
                                                           context.Rng().Next(), Now()));
    LogFailure("the patterns of peers could not be counted", peer_patterns_.Load());
    if (rounds_) {
      RETURN_IF_ERROR(rounds_->Restore());  // before actions reach it
    }
    ASSIGN_OR_RETURN(federation::Actions trust, trust_.Restore(*core_, Now()));
    Perform(std::move(trust), context);
    RETURN_IF_ERROR(Restore(context));
    // This repairs a crash between storing a pattern and offering it.
    Perform("own patterns could not be offered", own_patterns_.RefreshAll(*core_, Now()), context);
    RETURN_IF_ERROR(context.StartPeriodicTimer(kTick, [] { return Message(Tick{}); }).status());
    return absl::OkStatus();
  }
  absl::Status OnStop(Context& context) override {
    if (!core_->drained()) {
      Perform(core_->Leave(Now()), context);
    }
    shared_items_.RecordBytesSent(core_->counters().payload_bytes_sent, context.Now(),
                                  /*at_once=*/true);
    return absl::OkStatus();
  }

  absl::Status On(LinkOpened& message, Context& context) override {
    sinks_.Add(message.link, message.sink);
    Perform(core_->OnLinkOpened(message.link, message.address, Now(), message.channel), context);
    return absl::OkStatus();
  }
  absl::Status On(DialFailed& message, Context& context) override {
    Perform(core_->OnDialFailed(message.address, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(FrameReceived& message, Context& context) override {
    if (!sinks_.Has(message.link)) {
      return absl::OkStatus();  // this node closed the link while the frame waited
    }
    Perform(message.frame != nullptr ? core_->OnFrame(message.link, *message.frame, Now())
                                     : core_->OnBadFrame(message.link, Now()),
            context);
    return absl::OkStatus();
  }
  absl::Status On(LinkClosed& message, Context& context) override {
    sinks_.Forget(message.link);
    Perform(core_->OnLinkClosed(message.link, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(Tick&, Context& context) override {
    ObeyWithdrawal(context);
    Perform(core_->OnTick(Now()), context);
    shared_items_.RecordBytesSent(core_->counters().payload_bytes_sent, context.Now());
    if (options_.peer_counters != nullptr) {
      options_.peer_counters->SetFederation(*core_, peer_patterns_.Limits());
    }
    if (leave_) {
      return absl::OkStatus();  // nothing new is offered
    }
    Perform("changes of own patterns could not be followed",
            own_patterns_.FollowChanges(*core_, Now()), context);
    WithdrawExpired(context);
    trust_.LogIfRevocationListStale(*core_, Now());
    trials_.OnTick(*core_, context);
    experts_.OnTick(*core_, context);
    if (rounds_) {
      rounds_->OnTick(*core_, consent_since_ms_, context);
    }
    return absl::OkStatus();
  }
  absl::Status On(LeaveRequest& message, Context& context) override {
    leave_ = message.reply;
    Perform(core_->Drain(message.patience, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(NodesRevoked& message, Context& context) override {
    Perform("what the cluster's authority signed could not be taken",
            trust_.Take(*core_, message.list, message.issuer, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(CertificateRenewed& message, Context& context) override {
    Perform("the new certificate could not be taken",
            core_->SetCertificate(message.certificate, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(PatternStored& message, Context& context) override {
    Perform(own_patterns_.Refresh(message.id, *core_, Now()), context);
    return absl::OkStatus();
  }
  absl::Status On(LessonsWithdrawn&, Context& context) override {
    experts_.OnLessonsWithdrawn(*core_, context);
    if (rounds_) {
      rounds_->OnSharingChanged();
      rounds_->OnLessonsWithdrawn(*core_, context);
    }
    return absl::OkStatus();
  }
  absl::Status On(CompletionRated& message, Context&) override {
    trials_.OnRated(message.use);
    experts_.OnRated(message.use);
    return absl::OkStatus();
  }
  absl::Status On(ViewRequest& message, Context& context) override {
    sharing::FederationView view;
    view.members = core_->Members();
    view.now = context.Now();
    view.refused = core_->counters().refused;
    for (const auto& [reason, count] : peer_patterns_.refused()) {
      view.refused[reason] += count;
    }
    view.accepted = core_->counters().accepted_items;
    view.patterns = trials_.View(*core_);
    view.experts = experts_.View(*core_);
    view.tier = core_->consent();
    view.consent_since_ms = consent_since_ms_;
    view.bytes_shared = shared_items_.bytes_sent(core_->counters().payload_bytes_sent);
    view.plain_shared = shared_items_.plain();
    view.release = options_.contributor->View(options_.gossip.plan.get());
    if (rounds_) {
      view.rounds = rounds_->View();
    }
    view.certificate = core_->certificate();
    message.reply.Send(std::move(view));
    return absl::OkStatus();
  }
  absl::Status On(ConsentRequest& message, Context& context) override {
    ObeyWithdrawal(context);  // first, because it came earlier
    message.reply.Send(ChangeConsent(message.tier, context));
    return absl::OkStatus();
  }
  absl::Status On(ConsentsChanged& message, Context& context) override {
    message.reply.Send(Recheck(context));
    return absl::OkStatus();
  }
  absl::Status On(PreviewRequest& message, Context& context) override {
    Preview(message, context);
    return absl::OkStatus();
  }

 private:
  std::function<void(federation::Actions, Context&)> Performer() {
    return [this](federation::Actions actions, Context& context) {
      Perform(std::move(actions), context);
    };
  }
  federation::Instant Now() const { return federation::Instant::Of(*options_.clock); }

  void ExcludeExpelled() {
    if (rounds_) {
      rounds_->ExcludeExpelled(*core_);
    }
  }
  void OnSharingChanged() {
    experts_.OnSharingChanged();
    if (rounds_) {
      rounds_->OnSharingChanged();
    }
  }

  // Checks whether this node may share under the tier, which depends on no lesson.
  absl::Status CheckTier(privacy::ConsentTier tier) const {
    RETURN_IF_ERROR(options_.contributor->CheckTier(tier));
    return options_.rounds ? options_.contributor->Check(*options_.rounds->plan, tier)
                           : absl::OkStatus();
  }

  // Restores items and consent from before the restart.
  absl::Status Restore(Context& context) {
    ExcludeExpelled();
    RETURN_IF_ERROR(shared_items_.Load());
    RETURN_IF_ERROR(
        RestoreConsent(context));  // first, because own items may be shared only under it
    ASSIGN_OR_RETURN(std::vector<federation::Item> items, sharing::LoadItems(*options_.items));
    shared_items_.Record(core_->consent(), options_.key->id(), items);
    const std::vector<federation::Item> gone =
        own_patterns_.RemoveWithdrawn(&items, core_->consent(), Now());
    for (const federation::Item& item : gone) {
      withdrawals_.Add(item);
      Exclude(item);
    }
    Perform(core_->Restore(std::move(items), Now()), context);
    for (const privacy::Withdrawal& said : withdrawals_.LoadStored(options_.clock->WallMillis())) {
      Perform("a withdrawal could not be offered", core_->OfferWithdrawal(said, Now()), context);
    }
    for (const federation::Item& item : gone) {
      LogFailure("an item could not be deleted", options_.items->Delete(item.id));
    }
    trials_.OnRestored(*core_);
    experts_.OnRestored(*core_);
    if (rounds_) {
      rounds_->OnRestored(*core_, context);
    }
    return absl::OkStatus();
  }

  absl::Status RestoreConsent(Context& context) {
    ASSIGN_OR_RETURN(const std::optional<privacy::ConsentRecord> record,
                     options_.withdrawal->LoadConsent());
    if (!record.has_value()) {
      return absl::OkStatus();
    }
    if (const absl::Status allowed = CheckTier(record->tier); !allowed.ok()) {
      LogError("sharing stays off: {} [{}]", MessageOf(allowed), ReasonOf(allowed));
      return absl::OkStatus();
    }
    absl::StatusOr<federation::Actions> actions = core_->SetConsent(*record, Now());
    if (!actions.ok()) {
      LogError("the stored consent is not this node's own, so sharing stays off: {}",
               MessageOf(actions.status()));
      return absl::OkStatus();
    }
    consent_since_ms_ = record->since_ms;
    Perform(*std::move(actions), context);
    return absl::OkStatus();
  }

  void Perform(federation::Actions actions, Context& context) {
    shared_items_.Record(core_->consent(), actions);
    withdrawals_.Add(actions);
    const std::vector<privacy::Withdrawal> withdrawals =  // signed before rows are deleted
        withdrawals_.pending()
            ? withdrawals_.Take(own_patterns_.OfferedIds(*core_), options_.clock->WallMillis())
            : std::vector<privacy::Withdrawal>();
    for (federation::Action& action : actions) {
      if (auto* send = std::get_if<federation::SendFrame>(&action)) {
        sinks_.Send(std::move(*send));
      } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
        sinks_.Close(*close);
      } else if (auto* known = std::get_if<federation::LinkIdentified>(&action)) {
        sinks_.OnIdentified(known->link);
      } else if (auto* dial = std::get_if<federation::Dial>(&action)) {
        options_.dial(dial->address);
      } else if (auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        Accept(*accepted);
      } else if (auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action)) {
        Exclude(withdrawn->item);
      } else if (auto* dropped = std::get_if<federation::ItemDropped>(&action)) {
        LogFailure("an item could not be deleted", options_.items->Delete(dropped->id));
        experts_.OnGone(dropped->id);
        if (rounds_) {
          rounds_->OnDropped(*dropped);
        }
      } else if (auto* refused = std::get_if<federation::MessageRefused>(&action)) {
        const std::string reason = ReasonOf(refused->status);
        if (const auto left_out = refusals_.Admit(reason)) {
          LogWarning("refused on link {}: {} [{}]{}", refused->link, MessageOf(refused->status),
                     reason, LeftOut(*left_out));
        }
      } else if (auto* member = std::get_if<federation::MemberChanged>(&action)) {
        LogInfo("member {} {} at {}", member->member.name,
                federation::MemberStateName(member->member.state), member->member.address);
      } else if (trust_.Store(action, *core_, Now())) {
        ExcludeExpelled();
      }
    }
    for (const privacy::Withdrawal& withdrawal : withdrawals) {
      Perform("peers could not be told what was taken back",
              core_->OfferWithdrawal(withdrawal, Now()), context);
    }
    if (leave_ && core_->drained()) {
      leave_->Send(LeaveDone{});
    }
  }

  // Stops the use of an item that its sender withdrew.
  void Exclude(const federation::Item& item) {
    if (rounds_) {
      rounds_->OnWithdrawn(item);
    }
    if (item.kind == federation::ItemKind::kPattern && item.origin != options_.key->id()) {
      LogFailure("a withdrawn pattern could not be removed", peer_patterns_.Remove(item));
    }
  }

  void Perform(std::string_view what, absl::StatusOr<federation::Actions> actions,
               Context& context) {
    LogFailure(what, actions.status());
    if (actions.ok()) {
      Perform(*std::move(actions), context);
    }
  }

  // The item is made durable before it is used.
  void Accept(const federation::ItemAccepted& accepted) {
    const absl::Status stored = options_.items->Put(
        accepted.item.id, sharing::ToStored(accepted.item, options_.clock->WallMillis()));
    if (!stored.ok()) {
      LogFailure("an item could not be stored; peers will offer it again after a restart", stored);
    }
    if (rounds_) {
      rounds_->OnItem(accepted.item);
    }
    if (accepted.own) {
      return;
    }
    experts_.OnItem(accepted.item);
    if (accepted.item.kind == federation::ItemKind::kPattern) {
      LogFailure("a peer's pattern could not be stored",
                 peer_patterns_.Store(accepted.item, *core_));
    } else if (accepted.item.kind == federation::ItemKind::kWithdrawal) {
      LogFailure("withdrawn patterns could not be removed", peer_patterns_.Withdraw(accepted.item));
    }
  }

  void ObeyWithdrawal(Context& context) {
    if (options_.withdrawal->TakeRequest()) {
      LogFailure("consent was withdrawn",
                 ChangeConsent(privacy::ConsentTier::kPrivate, context).status());
    }
  }

  absl::StatusOr<privacy::v1::SetConsentResponse> ChangeConsent(privacy::ConsentTier tier,
                                                                Context& context) {
    RETURN_IF_ERROR(CheckTier(tier));
    const sharing::WithdrawnCounts taken = withdrawals_.total();
    OnSharingChanged();
    if (tier != core_->consent()) {
      // This comes before the record is stored, because what a crash leaves behind must be allowed
      // by its tier.
      Perform(core_->WithdrawContributions(), context);
    }
    const privacy::ConsentRecord record =
        privacy::ConsentRecord::Sign(tier, options_.clock->WallMillis(), *options_.key);
    absl::Status stored = options_.consent->Set(record);
    if (!stored.ok() && tier != privacy::ConsentTier::kPrivate) {
      return stored;
    }
    options_.withdrawal->SetUnstored(!stored.ok());
    // A withdrawal takes effect at once, even if the disk refuses to store it.
    ASSIGN_OR_RETURN(federation::Actions actions, core_->SetConsent(record, Now()));
    consent_since_ms_ = record.since_ms;
    Perform(std::move(actions), context);
    if (!stored.ok()) {
      return Annotate(stored,
                      "sharing has stopped until the node restarts, but the withdrawal could not "
                      "be stored; repeat it once the store takes writes again");
    }
    const uint64_t before = core_->counters().offered_items;
    ASSIGN_OR_RETURN(federation::Actions offers, own_patterns_.RefreshAll(*core_, Now()));
    Perform(std::move(offers), context);
    privacy::v1::SetConsentResponse answer;
    answer.set_tier(static_cast<privacy::v1::SharingTier>(tier));
    *answer.mutable_since() =
        google::protobuf::util::TimeUtil::MillisecondsToTimestamp(record.since_ms);
    answer.set_items_offered(static_cast<uint32_t>(core_->counters().offered_items - before));
    answer.set_items_taken_back(withdrawals_.total().items() - taken.items());
    answer.set_peers_told(static_cast<uint32_t>(core_->active_links()));
    return answer;
  }

  absl::StatusOr<sharing::OptOutAnswer> Recheck(Context& context) {
    experts_.OnSharingChanged();
    const sharing::WithdrawnCounts before = withdrawals_.total();
    ASSIGN_OR_RETURN(federation::Actions actions, own_patterns_.RefreshAll(*core_, Now()));
    Perform(std::move(actions), context);
    const sharing::WithdrawnCounts after = withdrawals_.total();
    return sharing::OptOutAnswer{.updates = after.updates - before.updates,
                                 .patterns = after.patterns - before.patterns,
                                 .peers = static_cast<uint32_t>(core_->active_links())};
  }

  // Takes back what was shared under consents that have ended, even if nothing else happens.
  void WithdrawExpired(Context& context) {
    const int64_t now_ms = options_.clock->WallMillis();
    const bool set_back = now_ms < consents_checked_ms_;  // the wall clock was set back
    if (options_.consents == nullptr ||
        (!set_back && now_ms - consents_checked_ms_ < kConsentCheckMillis)) {
      return;
    }
    if (set_back || options_.consents->EndedSince(consents_checked_ms_, now_ms)) {
      const absl::Status checked = Recheck(context).status();
      LogFailure("items that may no longer be shared could not be taken back", checked);
      if (!checked.ok()) {
        return;  // tried again at the next tick
      }
    }
    consents_checked_ms_ = now_ms;
  }

  void Preview(const PreviewRequest& request, Context& context) {
    if (request.tier == privacy::ConsentTier::kPublic && experts_.IsUnknown()) {
      request.reply.Send(experts_.own().status());
      return;
    }
    absl::Status allowed = CheckTier(request.tier);
    allowed.Update(sharing::CheckMayContribute(core_->certificate()));
    absl::StatusOr<privacy::v1::PreviewReleaseResponse> preview =
        sharing::PreviewPatterns({.tier = request.tier,
                                  .allowed = allowed,
                                  .own = &own_patterns_,
                                  .expert = experts_.own().ok() ? &*experts_.own() : nullptr,
                                  .now = Now()});
    if (preview.ok() && preview->refusal().empty() && rounds_) {
      rounds_->Preview(*core_, request.tier, *std::move(preview), request.reply, context);
      return;
    }
    if (preview.ok() && preview->refusal().empty()) {
      sharing::WriteRefusal(sharing::NoFrameForRounds(), &*preview);
    }
    request.reply.Send(std::move(preview));
  }

  const FederationActorOptions options_;
  sharing::TrustRecords trust_;
  sharing::PeerPatterns peer_patterns_;
  sharing::OwnPatterns own_patterns_;
  sharing::OwnWithdrawals withdrawals_;
  PatternTrials trials_;
  ExpertSharing experts_;
  sharing::SharedItemLog shared_items_;
  std::unique_ptr<federation::GossipCore> core_;
  sharing::LinkSinks sinks_;
  LogLimit refusals_;
  std::optional<RoundLearning> rounds_;               // nullopt: this node takes part in no rounds
  std::optional<runtime::ReplyTo<LeaveDone>> leave_;  // set once this node leaves
  int64_t consent_since_ms_ = 0;
  int64_t consents_checked_ms_ = 0;
};

}  // namespace

std::unique_ptr<runtime::Actor<GossipMessage>> MakeGossipActor(
    const FederationActorOptions& options) {
  return std::make_unique<GossipActor>(options);
}

}  // namespace ruvd::actors
