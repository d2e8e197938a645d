// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/masked_contributions.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <iterator>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/limits.h"
#include "federation/masked/late_sums.h"
#include "federation/reasons.h"
#include "node/log/log.h"
#include "node/sharing/refusal.h"
#include "node/sharing/shared_items.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::sharing {
namespace {

// Percent of a round until keys, commitments, shares and an attempt end. Members wait for keys as
// long as this only where one is missing; in rounds of ten minutes it is long enough for one whose
// clock is a minute behind.
constexpr int64_t kKeysPercent = 18;
constexpr int64_t kCommitsPercent = 25;
constexpr int64_t kSharesPercent = 29;
constexpr int64_t kAttemptPercent = 33;
// Percent of a round that computing a sum may take: then it is ready in the first attempt.
constexpr int64_t kSumPercent = 21;
// Percent of a round between two checks whether to announce that this node takes part
constexpr int64_t kLookPercent = 8;
constexpr double kMaxBatch = 1e6;  // more than any sample has

absl::Status Waits(std::string_view why) {
  return absl::FailedPreconditionError(absl::string_view(why.data(), why.size()));
}

absl::Status TooSlow(uint64_t round) {
  return Error(absl::StatusCode::kDeadlineExceeded, reasons::kMaskedRoundFailed,
               "the gradient of masked round {} was not ready while the members still waited for "
               "it, so this node gave nothing; its next samples are smaller. Set a longer "
               "federation.round_seconds on all nodes for larger ones",
               round);
}

}  // namespace

federation::MaskedRoundsConfig MaskedRoundsOf(const MaskedContributionsOptions& options) {
  // An attempt of a very long round is no longer than the protocol allows.
  const int64_t base_ms =
      std::min(options.plan->round_ms, limits::kMaxMaskAttemptMillis * 100 / kAttemptPercent);
  return {.cluster = options.cluster,
          .layout = federation::LayoutOfSums(*options.plan),
          .self = options.self,
          .period_ms = options.plan->round_ms,
          .keys_ms = base_ms * kKeysPercent / 100,
          .commits_ms = base_ms * kCommitsPercent / 100,
          .shares_ms = base_ms * kSharesPercent / 100,
          .attempt_ms = base_ms * kAttemptPercent / 100,
          .ready = false,
          .random = options.random};
}

MaskedContributions::MaskedContributions(MaskedContributionsOptions options)
    : options_(std::move(options)),
      lost_(options_.self),
      layout_(federation::LayoutOfSums(*options_.plan)),
      available_(Waits("this node has not looked yet whether it has lessons that may take part")) {
  absl::StatusOr<federation::MaskedRounds> rounds =
      federation::MaskedRounds::Create(MaskedRoundsOf(options_));
  if (rounds.ok()) {
    rounds_.emplace(*std::move(rounds));
  } else {
    LogInfo("this plan has no masked sums: {} [{}]", MessageOf(rounds.status()),
            ReasonOf(rounds.status()));
    waits_ = rounds.status();
  }
}

void MaskedContributions::OnItem(const federation::Item& item) {
  if (!rounds_ || !federation::IsMaskItem(item.kind)) {
    return;
  }
  if (item.round <= looked_at_) {
    changed_.insert(item.round);  // items of later rounds are looked at when their round begins
  }
  if (item.round + 1 >= looked_at_) {
    inbox_.push_back(item);
  }
}

void MaskedContributions::OnWithdrawn(const federation::Item& item) {
  if (!rounds_ || !federation::IsMaskItem(item.kind)) {
    return;
  }
  changed_.insert(item.round);
  if (item.round == rounds_->round() && item.origin != options_.self) {
    rounds_->Refuse(item.origin);
  }
}

federation::Actions MaskedContributions::OnTick(federation::GossipCore& core,
                                                federation::ClusterRounds& rounds,
                                                int64_t consent_since_ms, federation::Instant now) {
  masked_ = core.consent() == privacy::ConsentTier::kMasked;
  if (!rounds_) {
    return {};
  }
  TickContext turn{.core = core,
                   .consent_since_ms = consent_since_ms,
                   .first_live = rounds.FirstLiveRound(),
                   .now = now};
  // This also holds if the tier changed and changed back in between, because items sent under
  // another consent are withdrawn.
  if (std::exchange(consent_since_ms_, consent_since_ms) != consent_since_ms || !masked_) {
    rounds_->StopSharing();
    part_.reset();
  }
  if (masked_) {
    Follow(turn);
    Announce(turn);
  } else {
    waits_ = Waits("the operator's tier is not masked");
    inbox_.clear();
  }
  CountSums(core, rounds);
  return std::move(turn.actions);
}

void MaskedContributions::Follow(TickContext& turn) {
  if (rounds_->GoBack(turn.now)) {
    part_.reset();
    no_group_ = absl::OkStatus();
    checked_ = 0;
    next_look_ms_ = 0;
  }
  if (rounds_->Due(turn.now)) {
    part_.reset();
    no_group_ = absl::OkStatus();
    const std::vector<federation::Member> members = turn.core.Members();
    alive_ = static_cast<size_t>(std::ranges::count_if(members, &federation::Member::counts));
    const int64_t start_ms = rounds_->StartOf(rounds_->RoundAt(turn.now));
    const std::vector<federation::Item> items = turn.core.Items();
    lost_.NoteShares(items, turn.first_live, rounds_->RoundAt(turn.now));
    // A consent of the future was given while the clock was ahead.
    const bool consented =
        turn.consent_since_ms <= start_ms || turn.consent_since_ms > turn.now.wall_ms;
    Perform(rounds_->Begin(
                items, options_.last_reservation(),
                [&](size_t group) {
                  if (!Participates(turn)) {
                    return false;
                  }
                  if (!consented) {
                    waits_ = Waits("the operator's consent is newer than the round");
                    return false;
                  }
                  part_ = Part{.members = group};
                  return true;
                },
                turn.now),
            turn);
    LogLeftOut(rounds_->conduct(), rounds_->round());
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

void MaskedContributions::Announce(TickContext& turn) {
  if (!rounds_->MayAnnounce(turn.now) || turn.now.wall_ms < next_look_ms_) {
    return;
  }
  next_look_ms_ = turn.now.wall_ms + options_.plan->round_ms * kLookPercent / 100;
  if (ReasonOf(available_) == reasons::kConsentMissing) {
    checked_ = 0;  // lessons and consents may have come since
  }
  if (Participates(turn)) {
    Offer(rounds_->Announce(), turn);
  }
}

bool MaskedContributions::Participates(const TickContext& turn) {
  waits_ = CheckParticipates(turn);
  return waits_.ok();
}

absl::Status MaskedContributions::CheckParticipates(const TickContext& turn) const {
  RETURN_IF_ERROR(CheckMayContribute(turn.core.certificate()));
  RETURN_IF_ERROR(lost_.Check(rounds_->RoundAt(turn.now)));
  return available_;
}

std::optional<MaskedContributions::Work> MaskedContributions::TakeWork() {
  if (!rounds_ || !masked_ || rounds_->round() == 0) {
    return std::nullopt;
  }
  const uint64_t round = rounds_->round();
  if (part_) {
    checked_ = round;
    return std::exchange(part_->ordered, true) ? std::nullopt
                                               : std::optional(Work{.sum = true,
                                                                    .round = round,
                                                                    .members = part_->members,
                                                                    .max_batch = max_batch_});
  }
  return std::exchange(checked_, round) == round
             ? std::nullopt
             : std::optional(Work{.round = round + 1,
                                  .members = std::clamp(alive_, limits::kMinCliqueMembers,
                                                        limits::kMaxCliqueMembers),
                                  .max_batch = max_batch_});
}

void MaskedContributions::SetChecked(const absl::Status& checked) {
  available_ = checked;
  // A machine that was busy may have made the sample too small for a signal; only another sum tells
  // whether it still is.
  if (ReasonOf(checked) == reasons::kSignalTooWeak) {
    max_batch_ = std::min(2 * max_batch_, static_cast<size_t>(kMaxBatch));
  }
  if (checked.ok()) {
    next_look_ms_ = 0;
  }
  Refuse(checked);
}

void MaskedContributions::LimitBatch(const PreparedSum& sum, Duration took) {
  const double allowed = static_cast<double>(options_.plan->round_ms) * kSumPercent / 100;
  const double needed = std::max(1.0, std::chrono::duration<double, std::milli>(took).count());
  // The speed of this machine, whatever the secret size of the sample was. A power of two hides
  // what is left of it in the time, because the ledger shows the rates.
  const double units = static_cast<double>(sum.sum.units()) * allowed / needed;
  if (sum.sum.units() > 0) {
    max_batch_ = std::bit_floor(static_cast<size_t>(std::clamp(units, 1.0, kMaxBatch)));
  }
}

void MaskedContributions::SetSum(uint64_t round, absl::StatusOr<PreparedSum> sum, Duration took) {
  if (sum.ok()) {
    LimitBatch(*sum, took);
  }
  // What passes by itself does not keep this node from the next round.
  const bool passes = absl::IsCancelled(sum.status()) || absl::IsAborted(sum.status());
  available_ = passes ? absl::OkStatus() : sum.status();
  const bool late = rounds_->round() != round;
  Refuse(sum.ok() && late ? TooSlow(round) : sum.status());
  if (!part_ || late) {
    return;
  }
  if (sum.ok()) {
    part_->sum.emplace(*std::move(sum));
    rounds_->SetReady();
  } else {
    rounds_->StopSharing();
    part_.reset();
  }
}

void MaskedContributions::Refuse(const absl::Status& why) {
  if (!why.ok() && !absl::IsCancelled(why) && why != refusal_) {
    LogWarning("this node gives nothing to masked rounds: {} [{}]", MessageOf(why), ReasonOf(why));
  }
  refusal_ = why;
}

// Carries out the steps; giving a share leads to further steps.
void MaskedContributions::Perform(federation::MaskedSteps steps, TickContext& turn) {
  std::deque<federation::MaskedStep> waiting(std::make_move_iterator(steps.begin()),
                                             std::make_move_iterator(steps.end()));
  while (!waiting.empty()) {
    federation::MaskedStep step = std::move(waiting.front());
    waiting.pop_front();
    if (auto* const offer = std::get_if<federation::OfferMaskItem>(&step)) {
      Offer(std::move(*offer), turn);
    } else if (const auto* const wanted = std::get_if<federation::MaskInputWanted>(&step)) {
      Continue(Answer(*wanted, turn), &waiting);
    } else if (const auto* const due = std::get_if<federation::MaskPaymentWanted>(&step)) {
      Continue(Pay(*due, turn), &waiting);
    } else if (const auto* const refused = std::get_if<federation::MaskMemberRefused>(&step)) {
      LogInfo("node {} has no part in masked round {}: {} [{}]",
              ToHex(refused->member).substr(0, 16), rounds_->round(), MessageOf(refused->status),
              ReasonOf(refused->status));
    } else if (const auto* const ended = std::get_if<federation::MaskedRoundEnded>(&step)) {
      End(*ended);
    }
  }
}

void MaskedContributions::Continue(absl::StatusOr<federation::MaskedSteps> more,
                                   std::deque<federation::MaskedStep>* waiting) {
  if (more.ok()) {
    std::ranges::move(*more, std::back_inserter(*waiting));
  } else {
    Refuse(more.status());
    rounds_->StopSharing();  // it signs no set that it could not keep to
  }
}

void MaskedContributions::End(const federation::MaskedRoundEnded& ended) {
  const absl::Status status = ended.outcome.status();
  if (status.ok()) {
    return;  // the sum is found among the items, as on nodes that did not follow the round
  }
  if (ended.group == 0) {
    no_group_ = status;
  } else if (ended.gave && part_ && (!part_->answered || given_.round == rounds_->round())) {
    Refuse(!part_->answered && !part_->sum ? TooSlow(rounds_->round()) : status);
  }
}

void MaskedContributions::Offer(federation::OfferMaskItem offer, TickContext& turn) {
  const size_t bytes = offer.payload.size();
  absl::StatusOr<federation::Actions> offered =
      turn.core.OfferMasked(offer.kind, rounds_->round(), std::move(offer.payload), turn.now);
  if (!offered.ok()) {
    Refuse(offered.status());
    rounds_->StopSharing();
    return;
  }
  std::ranges::move(*offered, std::back_inserter(turn.actions));
  if (offer.kind == federation::ItemKind::kMaskShare) {
    given_ = std::exchange(unsent_, {});
    given_.bytes = bytes;
    options_.sent(given_.reservation);
    rounds_->StopSharing();  // no second share, whatever the other members do
    LogInfo("gave a share of {} lessons to masked round {}: epsilon {:.3f}", given_.lessons,
            given_.round, given_.epsilon);
  }
}

absl::StatusOr<federation::MaskedSteps> MaskedContributions::Answer(
    const federation::MaskInputWanted& wanted, TickContext& turn) {
  const uint64_t round = rounds_->round();
  if (!masked_ || !part_ || !part_->sum || part_->sum->round != round) {
    return Waits("this node has no sum of gradients for a share of this round");
  }
  part_->answered = true;
  part_->share.reset();
  ASSIGN_OR_RETURN(NoisedShare share, options_.noise(*part_->sum, wanted.set));
  privacy::masking::MaskInput input = std::exchange(share.input, {});
  part_->share = std::move(share);
  return rounds_->SubmitInput(round, wanted.attempt, std::move(input), turn.now);
}

absl::StatusOr<federation::MaskedSteps> MaskedContributions::Pay(
    const federation::MaskPaymentWanted& wanted, TickContext& turn) {
  const uint64_t round = rounds_->round();
  if (!masked_ || !part_ || !part_->sum || !part_->share || part_->sum->round != round) {
    return Waits("this node has no sum of gradients for the share that it committed to");
  }
  // The sum is gone after this, so that it cannot be released twice.
  const PreparedSum sum = *std::exchange(part_->sum, std::nullopt);
  const NoisedShare share = *std::exchange(part_->share, std::nullopt);
  ASSIGN_OR_RETURN(const uint64_t reservation, options_.pay(sum, share.charge));
  unsent_ = {.round = round,
             .reservation = reservation,
             .lessons = share.lessons,
             .epsilon = share.charge.epsilon};
  return rounds_->Reveal(round, wanted.attempt, reservation, turn.now);
}

void MaskedContributions::CountSums(const federation::GossipCore& core,
                                    federation::ClusterRounds& rounds) {
  if (!rounds_) {
    return;
  }
  const uint64_t first = rounds.FirstLiveRound();
  if (rounds.now_round() < looked_at_) {
    looked_at_ = 0;  // the clock was set back: sums may have been dropped that count again
  }
  if (looked_at_ < rounds.now_round()) {
    // A clock may leap over millions of rounds, so only those with items are looked at.
    for (const federation::Item& item : core.Items()) {
      if (federation::IsMaskItem(item.kind) && item.round > looked_at_ &&
          item.round <= rounds.now_round()) {
        changed_.insert(item.round);
      }
    }
  }
  looked_at_ = rounds.now_round();
  changed_.erase(changed_.begin(), changed_.lower_bound(first));
  known_.erase(known_.begin(), known_.lower_bound(first));
  if (changed_.empty()) {
    return;
  }
  const std::vector<federation::Item> items = core.Items();
  for (const uint64_t round : std::exchange(changed_, {})) {
    Recount(round, items, rounds);
  }
}

void MaskedContributions::Recount(uint64_t round, std::span<const federation::Item> items,
                                  federation::ClusterRounds& rounds) {
  const std::vector<federation::MaskedOutcome> sums =
      federation::MaskedSumsOf({.cluster = options_.cluster, .round = round}, layout_, items);
  if (std::ranges::any_of(sums, [this](const federation::MaskedOutcome& sum) {
        return sum.set.Find(options_.self) != nullptr;
      })) {
    lost_.NoteSum(round);
  }
  std::map<Digest, uint8_t> found;
  for (const federation::MaskedOutcome& sum : sums) {
    found.emplace(sum.set.SetHash(), sum.attempt);
  }
  std::map<Digest, uint8_t>& known = known_[round];
  std::erase_if(known, [&](const auto& entry) {
    const auto still = found.find(entry.first);
    const bool gone = still == found.end() || still->second != entry.second;
    if (gone) {
      LogInfo(
          "a masked sum of round {} no longer counts: a member took its share back or "
          "contradicted itself",
          round);
      rounds.OnWithdrawn(entry.first);
    }
    return gone;
  });
  for (const federation::MaskedOutcome& sum : sums) {
    if (known.emplace(sum.set.SetHash(), sum.attempt).second) {
      Add(sum, rounds);
    }
  }
}

void MaskedContributions::Add(const federation::MaskedOutcome& outcome,
                              federation::ClusterRounds& rounds) {
  const uint64_t round = outcome.set.round.round;
  const Digest name = outcome.set.SetHash();
  federation::RoundContribution sum{
      .id = name, .origin = name, .attempt = outcome.attempt, .members = {}, .contribution = {}};
  for (const privacy::masking::CliqueMember& member : outcome.set.members) {
    sum.members.push_back(member.id);
  }
  auto contribution = federation::ContributionOfSum(*options_.plan, round, outcome.units,
                                                    static_cast<uint32_t>(sum.members.size()));
  absl::Status added = contribution.status();
  if (contribution.ok()) {
    sum.contribution = *std::move(contribution);
    added = rounds.AddSum(std::move(sum));
  }
  if (!added.ok() && ReasonOf(added) != reasons::kRoundSealed) {
    LogWarning("a masked sum of round {} has no effect: {} [{}]", round, MessageOf(added),
               ReasonOf(added));
    return;
  }
  if (outcome.set.Find(options_.self) != nullptr && round >= last_sum_) {
    last_sum_ = round;
    last_members_ = outcome.weight();
  }
  LogInfo("masked round {} has the sum of {} nodes", round, outcome.weight());
}

void MaskedContributions::Write(cluster::v1::RoundsStatus* view) const {
  view->set_last_members(static_cast<uint32_t>(last_members_));
  if (!masked_) {
    return;
  }
  // Without a group this node would take part, but other members are missing.
  const absl::Status& waits = waits_.ok() ? no_group_ : waits_;
  view->set_waits(waits.ok() ? "" : MessageOf(waits));
  view->set_waits_reason(waits.ok() ? "" : ReasonOf(waits));
  view->set_last_round(given_.round);
  view->set_last_lessons(static_cast<uint32_t>(given_.lessons));
  view->set_last_epsilon(given_.epsilon);
  view->set_payload_bytes(static_cast<uint32_t>(given_.bytes));
  WriteRefusal(absl::IsCancelled(refusal_) ? absl::OkStatus() : refusal_, view);
}

}  // namespace ruvd::sharing
