// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/node_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/reasons.h"
#include "node/log/log.h"
#include "node/sharing/shared_items.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

void LogFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

absl::Status NotOffered(std::string_view why, const LocalContribution& made) {
  const std::string charged =
      made.epsilon > 0 ? fmt::format("; epsilon {:.3f} stays charged", made.epsilon) : "";
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "a contribution is not offered, because {}{}; the next round makes another one", why,
               charged);
}

absl::Status NoLesson() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "no lesson may take part in this round under this tier; new ones wait for the "
               "next round. Add texts with `ruvd learn add --tier`, give feedback, or ask the "
               "users to allow it");
}

// Returns how many members count, this one included.
size_t Contributors(const federation::GossipCore& core) {
  const std::vector<federation::Member> members = core.Members();
  return static_cast<size_t>(std::ranges::count_if(members, &federation::Member::counts));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeRounds>> NodeRounds::Create(NodeRoundsOptions options,
                                                               std::string_view saved,
                                                               federation::Instant now) {
  absl::Status unused;
  ASSIGN_OR_RETURN(federation::ClusterRounds rounds,
                   federation::ClusterRounds::Create({.plan = *options.plan, .self = options.self},
                                                     saved, now.wall_ms, &unused));
  LogFailure("rounds begin anew", unused);
  return std::unique_ptr<NodeRounds>(new NodeRounds(std::move(options), std::move(rounds)));
}

NodeRounds::NodeRounds(NodeRoundsOptions options, federation::ClusterRounds rounds)
    : options_(std::move(options)), rounds_(std::move(rounds)) {
  if (options_.plan->kind == federation::ContributionKind::kGradient) {
    masked_.emplace(MaskedContributionsOptions{
        .plan = options_.plan,
        .cluster = options_.cluster,
        .self = options_.self,
        .noise = options_.noise,
        .pay = options_.pay,
        .sent = [this](uint64_t reservation) { shares_sent_.push_back(reservation); },
        .last_reservation = options_.last_reservation,
        .random = options_.random});
  }
}

absl::Status NodeRounds::OnItem(const federation::Item& item) {
  if (masked_) {
    masked_->OnItem(item);
  }
  const absl::Status taken = rounds_.OnItem(item);
  return ReasonOf(taken) == reasons::kRoundSealed ? absl::OkStatus() : taken;
}

void NodeRounds::OnDropped(const federation::ItemDropped& dropped) {
  rounds_.OnDropped(dropped.id);
}

void NodeRounds::OnWithdrawn(const federation::Item& item) {
  rounds_.OnWithdrawn(item.id);
  if (masked_) {
    masked_->OnWithdrawn(item);
  }
}

bool NodeRounds::ExcludeExpelled(const federation::GossipCore& core) {
  const uint64_t before = exclusions_;
  const auto exclude = [this](const privacy::NodeId& member) {
    if (rounds_.OnExpelled(member)) {
      ++exclusions_;
      LogInfo("member {} is excluded, and the global adapter is made without its contributions",
              ToHex(member).substr(0, 16));
    }
  };
  for (const federation::Member& member : core.Members()) {
    if (member.standing != federation::MemberStanding::kGood) {
      exclude(member.id);
    }
  }
  std::vector<privacy::NodeId> parts;
  for (const auto& [member, round] : rounds_.StateBefore(rounds_.now_round()).last_part) {
    parts.push_back(member);
  }
  for (const privacy::NodeId& member : parts) {
    if (core.StandingOf(member) != federation::MemberStanding::kGood) {
      exclude(member);
    }
  }
  const bool had_part = exclusions_ != before;
  to_judge_ = to_judge_ || had_part;
  return had_part;
}

bool NodeRounds::EndJudgement(const JudgementWork& work) {
  working_ = false;
  return work.exclusions == exclusions_;
}

RoundsOutput NodeRounds::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                                federation::Instant now) {
  RoundsOutput output;
  if (masked_) {
    masked_->CountSums(core, rounds_);
  }
  FollowClock(now);
  if (masked_) {
    output.actions = masked_->OnTick(core, rounds_, consent_since_ms, now);
    output.sent = std::exchange(shares_sent_, {});
  }
  output.checkpoint = OfferCheckpoint(core, now, &output.actions);
  if (std::optional<std::string> state = rounds_.TakeSavedState()) {
    options_.save(*std::move(state));
  }
  if (rounds_.TakeChanged()) {
    to_judge_ = true;
    // A state of others may contain a member that was expelled long ago.
    output.excluded = ExcludeExpelled(core);
  }
  if (state_pace_.Due(/*incoming=*/!core.Incoming().empty(), now.now)) {
    const federation::StateDigest& state = rounds_.ComparedState();
    core.SetStateDigest(state.round, state.digest);
  }
  if (!working_) {
    output.work = NextWork(core);
    working_ = output.work.has_value();
  }
  return output;
}

std::optional<RoundWork> NodeRounds::NextWork(federation::GossipCore& core) {
  if (auto work = WorkForSum()) {
    return work;
  }
  // Where rounds are so short that work fills them, all three kinds take turns.
  const bool verdict = VerdictIsDue(core) && !(gave_verdict_ && to_judge_);
  if (ContributionIsDue(core) && !(contributed_ && (verdict || to_judge_))) {
    contributed_ = true;
    gave_verdict_ = false;
    return Contribute(core);
  }
  if (verdict) {
    gave_verdict_ = true;
    return MeasureVerdict(core);
  }
  contributed_ = false;
  gave_verdict_ = false;
  if (!std::exchange(to_judge_, false)) {
    return std::nullopt;
  }
  return JudgementWork{.exclusions = exclusions_};
}

void NodeRounds::FollowClock(federation::Instant now) {
  const uint64_t before = rounds_.now_round();
  rounds_.OnTime(now.wall_ms);
  const uint64_t round = rounds_.now_round();
  const federation::Instant last = std::exchange(last_tick_, now).value_or(now);
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now.now - last.now);
  if (now.wall_ms - last.wall_ms - passed.count() > options_.plan->round_ms) {
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
      before, round, rounds_.is_new() ? " with the state of its peers, if they have one" : "");
}

absl::Status NodeRounds::OfferCheckpoint(federation::GossipCore& core, federation::Instant now,
                                         federation::Actions* actions) {
  std::optional<federation::ClusterRounds::Checkpoint> checkpoint = rounds_.TakeCheckpoint();
  if (checkpoint && options_.edit_checkpoint) {
    options_.edit_checkpoint(*checkpoint);
  }
  if (!checkpoint || core.consent() == privacy::ConsentTier::kPrivate ||
      !CheckMayContribute(core.certificate()).ok()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(federation::Actions offered,
                   core.OfferCheckpoint(checkpoint->round, std::move(checkpoint->bytes), now));
  std::ranges::move(offered, std::back_inserter(*actions));
  return absl::OkStatus();
}

std::optional<RoundWork> NodeRounds::WorkForSum() {
  const auto work = masked_ ? masked_->TakeWork() : std::nullopt;
  if (!work) {
    return std::nullopt;
  }
  // A check needs no state, and that before the next round is not there yet.
  return SumWork{.work = *work,
                 .base = work->sum ? std::make_shared<const federation::GlobalState>(
                                         rounds_.StateBefore(work->round))
                                   : nullptr};
}

void NodeRounds::EndSum(const SumWork& work, absl::StatusOr<std::optional<PreparedSum>> made,
                        Duration took) {
  working_ = false;
  if (!work.work.sum) {
    masked_->SetChecked(made.status());
  } else if (made.ok()) {
    masked_->SetSum(work.work.round, **std::move(made), took);
  } else {
    masked_->SetSum(work.work.round, made.status(), took);
  }
}

bool NodeRounds::ContributionIsDue(const federation::GossipCore& core) const {
  if (masked_ && core.consent() == privacy::ConsentTier::kMasked) {
    return false;
  }
  const uint64_t round = rounds_.now_round();
  return core.consent() != privacy::ConsentTier::kPrivate && round > 0 && tried_ < round &&
         !rounds_.HasOwn(round);
}

ContributionWork NodeRounds::WorkUnder(const federation::GossipCore& core,
                                       privacy::ConsentTier tier) {
  const uint64_t round = rounds_.now_round();
  return {.round = round,
          .base = std::make_shared<const federation::GlobalState>(rounds_.StateBefore(round)),
          .tier = tier,
          .nodes = Contributors(core),
          .changes = sharing_changes_};
}

std::optional<RoundWork> NodeRounds::Contribute(const federation::GossipCore& core) {
  tried_ = rounds_.now_round();
  if (const absl::Status role = CheckMayContribute(core.certificate()); !role.ok()) {
    refusal_ = role;
    return std::nullopt;
  }
  return WorkUnder(core, core.consent());
}

RoundsOutput NodeRounds::EndContribution(const ContributionWork& work,
                                         absl::StatusOr<std::optional<LocalContribution>> made,
                                         federation::GossipCore& core, federation::Instant now) {
  working_ = false;
  RoundsOutput output;
  const std::string before = std::string(ReasonOf(refusal_));
  if (!made.ok()) {
    refusal_ = made.status();
  } else if (!*made) {
    refusal_ = NoLesson();
  } else if (MayNoLongerLeave(work.changes, (*made)->contributors, core)) {
    refusal_ = NotOffered("consents or lessons changed while it was made", **made);
  } else if (work.round > rounds_.now_round()) {
    refusal_ = NotOffered("the clock was set back while it was made", **made);
  } else {
    refusal_ = Offer(work.round, **std::move(made), core, now, &output);
  }
  // A refusal that lasts is in the status; the log has its begin.
  if (!refusal_.ok() && !absl::IsCancelled(refusal_) && ReasonOf(refusal_) != before) {
    LogWarning("this node gives nothing to round {}: {} [{}]", work.round, MessageOf(refusal_),
               ReasonOf(refusal_));
  }
  return output;
}

bool NodeRounds::MayNoLongerLeave(uint64_t sharing_changes,
                                  std::span<const privacy::Contributor> contributors,
                                  const federation::GossipCore& core) const {
  return sharing_changes != sharing_changes_ || (options_.may_leave && !contributors.empty() &&
                                                 !options_.may_leave(contributors, core.consent()));
}

absl::Status NodeRounds::Offer(uint64_t round, LocalContribution made, federation::GossipCore& core,
                               federation::Instant now, RoundsOutput* output) {
  const bool plain = made.contribution.noise == federation::Contribution::Noise::kNone;
  std::string payload =
      options_.edit ? EncodeContribution(options_.edit(made.contribution, rounds_), *options_.plan)
                    : EncodeContribution(made.contribution, *options_.plan);
  payload_bytes_ = static_cast<uint32_t>(payload.size());
  ASSIGN_OR_RETURN(federation::Actions offered,
                   core.OfferContribution(round, std::move(payload), now,
                                          plain ? privacy::ShareableKind::kContribution
                                                : privacy::ShareableKind::kDpContribution));
  RETURN_IF_ERROR(Record(std::move(offered), std::move(made.contributors), core, output));
  if (made.reservation != 0) {
    output->sent.push_back(made.reservation);
  }
  last_round_ = round;
  last_lessons_ = static_cast<uint32_t>(made.lessons);
  last_epsilon_ = made.epsilon;
  LogInfo("gave a contribution of {} lessons to round {}", made.lessons, round);
  return absl::OkStatus();
}

absl::Status NodeRounds::Record(federation::Actions offered,
                                std::vector<privacy::Contributor> contributors,
                                federation::GossipCore& core, RoundsOutput* output) {
  output->actions = options_.record
                        ? options_.record(std::move(offered), std::move(contributors), core)
                        : std::move(offered);
  const bool recorded = std::ranges::any_of(output->actions, [](const federation::Action& action) {
    return std::holds_alternative<federation::ItemAccepted>(action);
  });
  return recorded
             ? absl::OkStatus()
             : Error(absl::StatusCode::kUnavailable, reasons::kChanged,
                     "the people whose lessons an item is made from could not be recorded, so it "
                     "is not offered; see the line above for the cause");
}

federation::Actions NodeRounds::OnLessonsWithdrawn(federation::GossipCore& core) {
  std::vector<Digest> plain;
  for (const federation::Item& item : core.Items()) {
    if (item.origin != options_.self) {
      continue;
    }
    if (item.kind == federation::ItemKind::kVerdict) {
      plain.push_back(item.id);
    }
    if (item.kind != federation::ItemKind::kContribution) {
      continue;
    }
    const auto contribution =
        federation::DecodeContribution(AsBytes(*item.payload), *options_.plan);
    if (!contribution.ok() || contribution->noise == federation::Contribution::Noise::kNone) {
      plain.push_back(item.id);
    }
  }
  return plain.empty() ? federation::Actions() : core.WithdrawItems(plain);
}

}  // namespace ruvd::sharing
