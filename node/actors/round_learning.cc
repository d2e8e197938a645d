// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/round_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/reasons.h"
#include "inference/adapter/core_shape.h"
#include "node/actors/throttled_learning.h"
#include "node/log/log.h"
#include "node/sharing/shared_items.h"
#include "privacy/identity/admission.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/reasons.h"
#include "storage/state/state_names.h"

namespace ruvd::actors {
namespace {

constexpr std::string_view kGlobalName = "global";

void LogFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

absl::Status NotOffered(std::string_view why, const sharing::LocalContribution& made) {
  const std::string charged =
      made.epsilon > 0 ? fmt::format("; epsilon {:.3f} stays charged", made.epsilon) : "";
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "a contribution is not offered, because {}{}; the next round makes another one", why,
               charged);
}

}  // namespace

RoundLearning::RoundLearning(const FederationActorOptions& options, sharing::OwnPatterns& own,
                             Perform perform)
    : options_(options), learner_(*options.rounds), own_(own), perform_(std::move(perform)) {}

absl::Status RoundLearning::Restore() {
  std::string saved;
  if (options_.state != nullptr) {
    const auto stored = options_.state->Get(storage::state::ClusterRounds());
    if (stored.ok() && *stored) {
      saved = (*stored)->state();
    } else if (!stored.ok()) {
      LogFailure("the state of the rounds cannot be read, so it is taken from peers",
                 stored.status());
    }
  }
  absl::Status unused;
  ASSIGN_OR_RETURN(
      federation::ClusterRounds rounds,
      federation::ClusterRounds::Create({.plan = *learner_.plan, .self = options_.key->id()}, saved,
                                        options_.clock->WallMillis(), &unused));
  LogFailure("rounds begin anew", unused);
  rounds_.emplace(std::move(rounds));
  if (learner_.plan->kind == federation::ContributionKind::kGradient) {
    masked_.emplace(sharing::MaskedContributionsOptions{
        .plan = learner_.plan,
        .cluster = privacy::ClusterIdOf(options_.gossip.certificate.issuer),
        .self = options_.key->id(),
        .release =
            [this](sharing::PreparedSum sum, const privacy::masking::Clique& clique) {
              return options_.contributor->ReleaseShare(options_.learning, *learner_.plan,
                                                        std::move(sum), clique);
            },
        .sent = [this](uint64_t reservation) { options_.contributor->NoteSent(reservation); },
        .last_reservation = [this] { return options_.contributor->last_reservation(); },
        .random = privacy::SecureRandomBytes});
  }
  return absl::OkStatus();
}

void RoundLearning::OnWithdrawn(const federation::Item& item) {
  rounds_->OnWithdrawn(item.id);
  if (masked_) {
    masked_->OnWithdrawn(item);
  }
}

void RoundLearning::OnRestored(const federation::GossipCore& core, Context&) {
  for (const federation::Item& item : core.Items()) {
    OnItem(item);
  }
}

void RoundLearning::OnDropped(const federation::ItemDropped& dropped) {
  rounds_->OnDropped(dropped.id);
}

void RoundLearning::OnItem(const federation::Item& item) {
  if (masked_) {
    masked_->OnItem(item);
  }
  const absl::Status taken = rounds_->OnItem(item);
  if (!taken.ok() && ReasonOf(taken) != reasons::kRoundSealed) {
    LogFailure("an item of the rounds has no effect", taken);
  }
}

void RoundLearning::ExcludeExpelled(const federation::GossipCore& core) {
  for (const federation::Member& member : core.Members()) {
    if (member.standing != federation::MemberStanding::kGood) {
      Exclude(member.id);
    }
  }
  std::vector<privacy::NodeId> parts;
  for (const auto& [member, round] : rounds_->StateBefore(rounds_->now_round()).last_part) {
    parts.push_back(member);
  }
  for (const privacy::NodeId& member : parts) {
    if (core.StandingOf(member) != federation::MemberStanding::kGood) {
      Exclude(member);
    }
  }
}

void RoundLearning::Exclude(const privacy::NodeId& member) {
  // The served adapter may contain a part of the member, so the next one is judged against none.
  if (rounds_->OnExpelled(member) && served_ != nullptr) {
    Serve(nullptr);
    judged_ = {};
    to_judge_ = true;
    LogInfo("the global adapter is served again once it is made without {}",
            ToHex(member).substr(0, 16));
  }
}

void RoundLearning::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                           Context& context) {
  if (masked_) {
    masked_->CountSums(core, *rounds_);
  }
  FollowClock();
  if (masked_) {
    perform_(masked_->OnTick(core, *rounds_, consent_since_ms, Now()), context);
  }
  OfferCheckpoint(core, context);
  Save();
  if (rounds_->TakeChanged()) {
    to_judge_ = true;
    ExcludeExpelled(core);  // a state of others may contain a member that was expelled long ago
  }
  if (working_ || WorkForSum(context)) {
    return;
  }
  // Where rounds are so short that work fills them, all three kinds take turns.
  const bool verdict = VerdictIsDue(core) && !(gave_verdict_ && to_judge_);
  if (ContributionIsDue(core) && !(contributed_ && (verdict || to_judge_))) {
    contributed_ = true;
    gave_verdict_ = false;
    Contribute(core, context);
  } else if (verdict) {
    gave_verdict_ = true;
    MeasureVerdict(core, context);
  } else {
    contributed_ = false;
    gave_verdict_ = false;
    if (std::exchange(to_judge_, false)) {
      Judge(context);
    }
  }
}

void RoundLearning::FollowClock() {
  const uint64_t before = rounds_->now_round();
  const federation::Instant now = Now();
  rounds_->OnTime(now.wall_ms);
  const uint64_t round = rounds_->now_round();
  const federation::Instant last = std::exchange(last_tick_, now).value_or(now);
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now.now - last.now);
  if (now.wall_ms - last.wall_ms - passed.count() > learner_.plan->round_ms) {
    tried_ = round;  // nothing is charged for a round to which a wrong clock may have leapt
  }
  if (round >= before) {
    return;
  }
  // What was tried in rounds that are still to come is tried again in them.
  tried_ = std::min(tried_, round);
  verdicts_.tried = std::min(verdicts_.tried, round > 0 ? round - 1 : 0);
  LogWarning(
      "the clock was set back from round {} to round {}, so this node continues there{}; keep the "
      "clocks of all nodes set, for instance by NTP",
      before, round, rounds_->is_new() ? " with the state of its peers, if they have one" : "");
}

void RoundLearning::OfferCheckpoint(federation::GossipCore& core, Context& context) {
  const std::optional<federation::ClusterRounds::Checkpoint> checkpoint = rounds_->TakeCheckpoint();
  if (!checkpoint || core.consent() == privacy::ConsentTier::kPrivate ||
      !sharing::CheckMayContribute(core.certificate()).ok()) {
    return;
  }
  auto offered = core.OfferCheckpoint(checkpoint->round, checkpoint->bytes, Now());
  LogFailure("the state of the rounds could not be offered", offered.status());
  if (offered.ok()) {
    perform_(*std::move(offered), context);
  }
}

void RoundLearning::Save() {
  const std::optional<std::string> bytes = rounds_->TakeSavedState();
  if (!bytes || options_.state == nullptr) {
    return;
  }
  storage::v1::ClusterRounds message;
  message.set_state(*bytes);
  LogFailure("the state of the rounds could not be saved",
             options_.state->Put(storage::state::ClusterRounds(), message));
}

bool RoundLearning::WorkForSum(Context& context) {
  const auto work = masked_ ? masked_->TakeWork() : std::nullopt;
  if (!work) {
    return false;
  }
  // A check needs no state, and that before the next round is not there yet.
  auto base =
      work->sum ? std::make_shared<const federation::GlobalState>(rounds_->StateBefore(work->round))
                : nullptr;
  using Made = absl::StatusOr<std::optional<sharing::PreparedSum>>;
  auto made = std::make_shared<Made>(absl::CancelledError("not run"));
  auto took = std::make_shared<Duration>();  // without the wait for other work of the pool
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, base, work = *work,
       clock = options_.clock, took, made]() mutable {
        const TimePoint begin = clock->Now();
        const ThrottledLearning throttled(throttle, &services);
        const sharing::ContributionRequest request{.plan = plan.get(),
                                                   .round = work.round,
                                                   .base = base.get(),
                                                   .tier = privacy::ConsentTier::kMasked,
                                                   .nodes = work.members,
                                                   .max_batch = work.max_batch};
        if (work.sum) {
          *made = contributor->MakeSum(services, request);
        } else if (const absl::Status checked = contributor->CheckLessons(services, request);
                   checked.ok()) {
          *made = std::nullopt;
        } else {
          *made = checked;
        }
        *took = clock->Now() - begin;
      },
      [this, work = *work, took, made](Context&) {
        working_ = false;
        EndWorkForSum(work, *std::move(made), *took);
        return absl::OkStatus();
      });
  working_ = started.ok();
  LogFailure("the sum of a masked round was not begun", started);
  if (!started.ok()) {
    EndWorkForSum(*work, started, Duration::zero());
  }
  return true;
}

void RoundLearning::EndWorkForSum(const sharing::MaskedContributions::Work& work,
                                  absl::StatusOr<std::optional<sharing::PreparedSum>> made,
                                  Duration took) {
  if (!work.sum) {
    masked_->SetChecked(made.status());
  } else if (made.ok()) {
    masked_->SetSum(work.round, **std::move(made), took);
  } else {
    masked_->SetSum(work.round, made.status(), took);
  }
}

bool RoundLearning::ContributionIsDue(const federation::GossipCore& core) const {
  if (masked_ && core.consent() == privacy::ConsentTier::kMasked) {
    return false;
  }
  const uint64_t round = rounds_->now_round();
  return core.consent() != privacy::ConsentTier::kPrivate && round > 0 && tried_ < round &&
         !rounds_->HasOwn(round);
}

void RoundLearning::Contribute(federation::GossipCore& core, Context& context) {
  const uint64_t round = rounds_->now_round();
  tried_ = round;
  if (const absl::Status role = sharing::CheckMayContribute(core.certificate()); !role.ok()) {
    refusal_ = role;
    return;
  }
  auto base = std::make_shared<const federation::GlobalState>(rounds_->StateBefore(round));
  using Made = absl::StatusOr<std::optional<sharing::LocalContribution>>;
  auto made = std::make_shared<Made>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      // The work refers to nothing in this actor, because it outlives the actor after a forced
      // stop.
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, round, base, tier = core.consent(),
       nodes = Contributors(core), made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *made = contributor->Make(
            services,
            {.plan = plan.get(), .round = round, .base = base.get(), .tier = tier, .nodes = nodes});
      },
      [this, &core, round, changes = sharing_changes_, made](Context& own) {
        working_ = false;
        EndContribution(round, changes, *std::move(made), core, own);
        return absl::OkStatus();
      });
  working_ = started.ok();
  LogFailure("a contribution was not begun", started);
}

void RoundLearning::EndContribution(uint64_t round, uint64_t sharing_changes,
                                    absl::StatusOr<std::optional<sharing::LocalContribution>> made,
                                    federation::GossipCore& core, Context& context) {
  const std::string before = std::string(ReasonOf(refusal_));
  refusal_ = made.status();
  if (made.ok() && !*made) {
    refusal_ =
        Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
              "no lesson may take part in this round under this tier; new ones wait for the "
              "next round. Add texts with `ruvd learn add --tier`, give feedback, or ask the "
              "users to allow it");
  } else if (made.ok() && MayNoLongerLeave(sharing_changes, (*made)->contributors, core)) {
    refusal_ = NotOffered("consents or lessons changed while it was made", **made);
  } else if (made.ok() && round > rounds_->now_round()) {
    refusal_ = NotOffered("the clock was set back while it was made", **made);
  } else if (made.ok()) {
    refusal_ = Offer(round, **made, core, context);
  }
  // A refusal that lasts is in the status; the log has its begin.
  if (!refusal_.ok() && !absl::IsCancelled(refusal_) && ReasonOf(refusal_) != before) {
    LogWarning("this node gives nothing to round {}: {} [{}]", round, MessageOf(refusal_),
               ReasonOf(refusal_));
  }
}

bool RoundLearning::MayNoLongerLeave(uint64_t sharing_changes,
                                     std::span<const privacy::Contributor> contributors,
                                     const federation::GossipCore& core) const {
  return sharing_changes != sharing_changes_ ||
         (options_.consents != nullptr && !contributors.empty() &&
          !options_.consents->MayShare(contributors, core.consent(), options_.clock->WallMillis()));
}

absl::Status RoundLearning::Offer(uint64_t round, const sharing::LocalContribution& made,
                                  federation::GossipCore& core, Context& context) {
  const bool plain = made.contribution.noise == federation::Contribution::Noise::kNone;
  std::string payload =
      learner_.edit ? EncodeContribution(learner_.edit(made.contribution, *rounds_), *learner_.plan)
                    : EncodeContribution(made.contribution, *learner_.plan);
  payload_bytes_ = static_cast<uint32_t>(payload.size());
  ASSIGN_OR_RETURN(federation::Actions offered,
                   core.OfferContribution(round, std::move(payload), Now(),
                                          plain ? privacy::ShareableKind::kContribution
                                                : privacy::ShareableKind::kDpContribution));
  RETURN_IF_ERROR(PerformRecorded(std::move(offered), made.contributors, core, context));
  options_.contributor->NoteSent(made.reservation);
  last_round_ = round;
  last_lessons_ = static_cast<uint32_t>(made.lessons);
  last_epsilon_ = made.epsilon;
  LogInfo("gave a contribution of {} lessons to round {}", made.lessons, round);
  return absl::OkStatus();
}

absl::Status RoundLearning::PerformRecorded(federation::Actions offered,
                                            std::vector<privacy::Contributor> contributors,
                                            federation::GossipCore& core, Context& context) {
  offered = own_.RecordContribution(std::move(offered), std::move(contributors), core);
  const bool recorded = std::ranges::any_of(offered, [](const federation::Action& action) {
    return std::holds_alternative<federation::ItemAccepted>(action);
  });
  perform_(std::move(offered), context);
  return recorded
             ? absl::OkStatus()
             : Error(absl::StatusCode::kUnavailable, reasons::kChanged,
                     "the people whose lessons an item is made from could not be recorded, so it "
                     "is not offered; see the line above for the cause");
}

void RoundLearning::OnLessonsWithdrawn(federation::GossipCore& core, Context& context) {
  std::vector<Digest> plain;
  for (const federation::Item& item : core.Items()) {
    if (item.origin != options_.key->id()) {
      continue;
    }
    if (item.kind == federation::ItemKind::kVerdict) {
      plain.push_back(item.id);
    }
    if (item.kind != federation::ItemKind::kContribution) {
      continue;
    }
    const auto contribution =
        federation::DecodeContribution(AsBytes(*item.payload), *learner_.plan);
    if (!contribution.ok() || contribution->noise == federation::Contribution::Noise::kNone) {
      plain.push_back(item.id);
    }
  }
  if (!plain.empty()) {
    perform_(core.WithdrawItems(plain), context);
  }
}

size_t RoundLearning::Contributors(const federation::GossipCore& core) {
  const std::vector<federation::Member> members = core.Members();
  return static_cast<size_t>(std::ranges::count_if(members, &federation::Member::counts));
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> RoundLearning::Candidate() {
  const federation::GlobalState& state = rounds_->StateBefore(rounds_->now_round());
  if (state.last_part.empty()) {
    return nullptr;
  }
  return inference::TaloraOfCores(*learner_.frame, learner_.shape, state.values,
                                  std::string(kGlobalName), static_cast<uint32_t>(state.round));
}

void RoundLearning::Judge(Context& context) {
  absl::StatusOr<std::shared_ptr<const inference::Talora>> candidate = Candidate();
  LogFailure("the global adapter cannot be made", candidate.status());
  if (!candidate.ok()) {
    return;
  }
  const federation::GlobalState& state = rounds_->StateBefore(rounds_->now_round());
  std::string values;
  for (const std::vector<float>& bank : state.values) {
    values.append(reinterpret_cast<const char*>(bank.data()), bank.size() * sizeof(float));
  }
  if (const Digest digest = Sha256(values); std::exchange(judged_, digest) == digest) {
    return;  // the last rounds had no contributions
  }
  if (*candidate == nullptr) {
    Serve(nullptr);
    return;
  }
  auto verdict =
      std::make_shared<absl::StatusOr<sharing::GlobalVerdict>>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [gate = learner_.gate, services = options_.learning, throttle = options_.throttle,
       served = served_, candidate = *candidate, verdict]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *verdict = gate->Judge(services, served, candidate);
      },
      [this, candidate = *candidate, verdict](Context&) {
        working_ = false;
        EndJudgement(candidate, *verdict);
        return absl::OkStatus();
      });
  working_ = started.ok();
  if (!started.ok()) {
    judged_ = {};
    LogFailure("the judgement of a global adapter was not begun", started);
  }
}

void RoundLearning::EndJudgement(const std::shared_ptr<const inference::Talora>& candidate,
                                 const absl::StatusOr<sharing::GlobalVerdict>& verdict) {
  if (!verdict.ok()) {
    judged_ = {};  // tried again with the next round
    if (!absl::IsCancelled(verdict.status())) {
      LogFailure("the global adapter could not be judged", verdict.status());
    }
    return;
  }
  verdict_ = *verdict;
  LogInfo(
      "global adapter {}: {}; gain {:+.4f} on {} lessons (standard error {:.4f}), general text "
      "{:.4f} to {:.4f}",
      candidate->version, verdict->serve ? "served" : "held back", verdict->gain_over_none,
      verdict->lessons, verdict->standard_error_over_none, verdict->general_before,
      verdict->general_after);
  if (verdict->serve) {
    Serve(candidate);
  }
}

void RoundLearning::Serve(std::shared_ptr<const inference::Talora> adapter) {
  served_ = std::move(adapter);
  learner_.catalog->SetGlobal(served_);
}

}  // namespace ruvd::actors
