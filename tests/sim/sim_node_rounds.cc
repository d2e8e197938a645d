// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a simulated node does for the rounds of its cluster, and what it takes back.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "federation/learner/contribution.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "tests/federation/fixture.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/sim_release.h"

namespace ruvd::test {
namespace {

// A node withdraws one of its newest contributions, so that some are not settled yet.
constexpr size_t kNewestOwn = 5;
// How often an operator leaves a tier with noise where others withdraw a contribution: whatever a
// masked node gave since the last settled round takes the sums of its groups with it.
constexpr double kLeaves = 0.3;
// The value that liars say the global adapter has everywhere.
constexpr float kFalseValue = 10;

// The noise of a contribution is far too much to learn from, but its charge is right for it.
constexpr double kNoiseMultiplier = 8;

const privacy::dp::RdpCurve& Cost() {
  static const privacy::dp::RdpCurve cost = [] {
    auto curve = privacy::dp::SampledCurve(1, privacy::dp::GaussianRho(kNoiseMultiplier));
    RUVD_CHECK(curve.ok());
    return *curve;
  }();
  return cost;
}

// How many lessons a node has; a new one comes for each that is withdrawn.
constexpr uint64_t kLessons = 6;

std::string LessonName(uint64_t lesson) {
  return fmt::format("lesson {:04}", lesson);
}

}  // namespace

absl::StatusOr<uint64_t> SimNode::Charge(const federation::Contribution& contribution) {
  ASSIGN_OR_RETURN(
      const uint64_t reservation,
      ledger_->Reserve({.unit = privacy::PrivacyUnit::kLesson,
                        .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
                        .sigma = kNoiseMultiplier,
                        .epsilon = 0.5,
                        .delta = 1e-6,
                        .curve = Cost(),
                        .round = contribution.round,
                        .oldest_joined = ledger_->OldestEligible(contribution.round, Cost()),
                        .subject = SubjectOf(EncodeContribution(contribution, *setup_.plan))}));
  audit_->LedgerCharged(setup_.number, ledger_->spent());
  return reservation;
}

absl::StatusOr<federation::Actions> SimNode::Seal(const federation::Contribution& contribution) {
  return core_->OfferContribution(contribution.round,
                                  EncodeContribution(contribution, *setup_.plan), now(),
                                  privacy::ShareableKind::kDpContribution);
}

absl::Status SimNode::OfferContribution(const federation::Contribution& contribution) {
  if (core_ == nullptr || paused_) {
    return absl::UnavailableError("process does not run");
  }
  if (!setup_.charges_first) {
    ASSIGN_OR_RETURN(federation::Actions uncharged, Seal(contribution));
    Apply(std::move(uncharged));
    return Survives() ? Charge(contribution).status() : absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t reservation, Charge(contribution));
  if (!Survives()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ledger_->Spend(reservation));
  ASSIGN_OR_RETURN(federation::Actions actions, Seal(contribution));
  Apply(std::move(actions));
  return Survives() ? ledger_->Release(reservation) : absl::OkStatus();
}

absl::Status SimNode::WithdrawContribution() {
  if (core_ == nullptr || paused_) {
    return absl::UnavailableError("process does not run");
  }
  if (noised() && consent_.tier == setup_.tier && random_.Bernoulli(kLeaves)) {
    LeaveTier();
    return absl::OkStatus();
  }
  if (masked()) {
    return absl::OkStatus();
  }
  std::vector<std::pair<int64_t, Digest>> own;
  for (const federation::Item& item : core_->Items()) {
    if (item.kind == federation::ItemKind::kContribution && item.origin == identity().key.id()) {
      own.emplace_back(-item.created_ms, item.id);
    }
  }
  if (own.empty()) {
    return absl::NotFoundError("no contribution to withdraw");
  }
  std::ranges::sort(own);
  const Digest id = own[random_.Below(std::min(own.size(), kNewestOwn))].second;
  Apply(core_->WithdrawItems({&id, 1}));
  return absl::OkStatus();
}

absl::Status SimNode::SetRevocations(const privacy::RevocationList& list) {
  if (core_ == nullptr || paused_) {
    return absl::UnavailableError("process does not run");
  }
  ASSIGN_OR_RETURN(federation::Actions actions, core_->SetRevocations(list, now()));
  Apply(std::move(actions));
  return absl::OkStatus();
}

absl::Status SimNode::WithdrawLesson() {
  if (core_ == nullptr || paused_ || rounds_ == std::nullopt) {
    return absl::UnavailableError("process does not run, or learns nothing");
  }
  const std::set<uint64_t>& withdrawn = disk_.Read().withdrawn_lessons;
  uint64_t lesson = random_.Below(kLessons + withdrawn.size());
  while (withdrawn.contains(lesson)) {
    lesson = random_.Below(kLessons + withdrawn.size());
  }
  audit_->LessonWithdrawn(setup_.number, LessonName(lesson));
  if (setup_.forgets_lessons) {
    disk_.WithdrawLesson(lesson);
    disk_.Sync();
    rounds_->node().OnSharingChanged();
  }
  if (setup_.takes_back) {
    Apply(rounds_->node().OnLessonsWithdrawn(*core_));
  }
  if (core_ == nullptr) {
    return absl::OkStatus();
  }
  std::vector<Digest> plain;
  for (const federation::Item& item : core_->Items()) {
    if (item.kind == federation::ItemKind::kContribution && item.origin == identity().key.id() &&
        IsPlain(item)) {
      plain.push_back(item.id);
    }
  }
  audit_->CheckTakenBack(setup_.number, LessonName(lesson), plain);
  return absl::OkStatus();
}

bool SimNode::IsPlain(const federation::Item& item) const {
  const auto contribution = federation::DecodeContribution(AsBytes(*item.payload), *setup_.plan);
  RUVD_CHECK(contribution.ok());
  return contribution->noise == federation::Contribution::Noise::kNone;
}

// Own items of rounds leave only under the tier that allows their kind.
void SimNode::CheckTier(const federation::Item& item) {
  using enum privacy::ConsentTier;
  const bool mask = federation::IsMaskItem(item.kind);
  const bool contribution = item.kind == federation::ItemKind::kContribution;
  const bool allowed = mask            ? consent_.tier == kMasked
                       : !contribution ? true
                       : IsPlain(item) ? consent_.tier == kPublic
                                       : consent_.tier == kDp || consent_.tier == kPublic;
  if (!allowed) {
    audit_->LeftUnderOtherTier(setup_.number, item.id, ItemKindName(item.kind));
  }
}

std::vector<std::string> SimNode::Lessons() {
  const std::set<uint64_t>& withdrawn = disk_.Read().withdrawn_lessons;
  std::vector<std::string> names;
  for (uint64_t lesson = 0; lesson < kLessons + withdrawn.size(); ++lesson) {
    if (!withdrawn.contains(lesson)) {
      names.push_back(LessonName(lesson));
    }
  }
  return names;
}

sharing::NodeRoundsOptions SimNode::RoundsOptions() {
  sharing::NodeRoundsOptions options;
  options.plan = setup_.plan;
  options.cluster = privacy::ClusterIdOf(identity().config.certificate.issuer.root);
  options.self = identity().key.id();
  options.random = EntropyOf(random_.Next());
  options.save = [this](std::string saved) { SaveRounds(std::move(saved)); };
  options.noise = [this](const sharing::PreparedSum& sum, const privacy::masking::Clique& clique) {
    return LiesInShares() == ShareLies::kNone ? NoiseShare(sum, clique) : LieInShare(sum, clique);
  };
  options.pay = [this](const sharing::PreparedSum& sum, const privacy::LedgerCharge& charge) {
    return PayForShare(sum, charge);
  };
  options.last_reservation = [this] { return ledger_->newest(); };
  options.may_leave = [this](std::span<const privacy::Contributor> contributors,
                             privacy::ConsentTier tier) {
    return SimConsents()
        .RequireAll(contributors, privacy::consent_purposes::kSharing, tier, now().wall_ms)
        .ok();
  };
  options.edit_checkpoint = [this](federation::ClusterRounds::Checkpoint& checkpoint) {
    if (adversary_ && adversary_->LiesInCheckpoints()) {
      auto state = federation::DecodeState(AsBytes(checkpoint.bytes), *setup_.plan);
      RUVD_CHECK(state.ok());
      std::ranges::fill(state->values[0], kFalseValue);
      checkpoint.bytes = EncodeState(*state, *setup_.plan);
    }
  };
  return options;
}

void SimNode::TickRounds() {
  sharing::RoundsOutput output = rounds_->OnTick(*core_, consent_.since_ms, now());
  if (doomed_) {
    DieInThisRelease(&deaths_in_shares_);
    return;
  }
  Follow(std::move(output));
  OfferFalseShare();
}

void SimNode::Follow(sharing::RoundsOutput output) {
  Apply(std::move(output.actions));
  if (core_ == nullptr || (!output.sent.empty() && !Survives())) {
    return;
  }
  if (setup_.charges_shares) {
    for (const uint64_t reservation : output.sent) {
      RUVD_CHECK(ledger_->Release(reservation).ok());
    }
  } else {
    ledger_->Flush();
  }
  if (output.work) {
    std::visit([this](const auto& work) { Begin(work); }, *output.work);
  }
}

void SimNode::SaveRounds(std::string saved) {
  if (doomed_) {
    return;  // the process died before
  }
  if (!setup_.saves_last_round) {
    auto state = federation::DecodeState(AsBytes(saved), *setup_.plan);
    RUVD_CHECK(state.ok());
    --state->round;
    for (auto& [member, round] : state->last_part) {
      round = std::min(round, state->round);
    }
    for (auto& nodes : state->running_means) {
      for (auto& [node, mean] : nodes) {
        mean.round = std::min(mean.round, state->round);
      }
    }
    saved = EncodeState(*state, *setup_.plan);
  }
  disk_.PutRounds(std::move(saved));
}

// Training runs beside the core, from the lessons and the state at its begin.
void SimNode::Begin(const sharing::ContributionWork& work) {
  const bool open = setup_.learning->Contributes(setup_.number, work.round);
  const Duration after = !open ? Duration{}
                         : setup_.attack
                             ? Learning::kLiarsWait
                             : Duration(static_cast<int64_t>(random_.Below(
                                   static_cast<uint64_t>(Learning::kTrainingSpread.count()))));
  queue_->After(after, [this, work, lessons = Lessons(), boot = boot_counter_] {
    if (boot_counter_ == boot) {
      Take([this, work, lessons] { EndContribution(work, lessons); });
    }
  });
}

// The world's contributions count no quality, and its adapters are not served.
void SimNode::Begin(const sharing::VerdictWork& work) {
  Follow(rounds_->node().EndVerdict(work, absl::CancelledError(), *core_, now()));
}
void SimNode::Begin(const sharing::JudgementWork& work) {
  (void)rounds_->node().EndJudgement(work);
}

void SimNode::EndContribution(const sharing::ContributionWork& work,
                              const std::vector<std::string>& lessons) {
  absl::StatusOr<std::optional<sharing::LocalContribution>> made = MakeContribution(work, lessons);
  if (doomed_) {
    DieInThisRelease(&deaths_in_contributions_);
    return;
  }
  if (core_ == nullptr) {
    return;
  }
  std::optional<federation::Contribution> uncharged;
  if (!setup_.charges_first && made.ok() && *made && (*made)->reservation == 0) {
    uncharged = (*made)->contribution;
  }
  made_from_ = lessons;
  Follow(rounds_->node().EndContribution(work, std::move(made), *core_, now()));
  made_from_.clear();
  if (uncharged && Survives()) {
    Charge(*uncharged).IgnoreError();
  }
}

absl::StatusOr<std::optional<sharing::LocalContribution>> SimNode::MakeContribution(
    const sharing::ContributionWork& work, const std::vector<std::string>& lessons) {
  if (!setup_.learning->Contributes(setup_.number, work.round)) {
    return std::nullopt;
  }
  if (work.tier == privacy::ConsentTier::kDp && !setup_.attack) {
    return MakeNoised(work, lessons);
  }
  sharing::LocalContribution made{
      .contribution = setup_.attack ? setup_.learning->Lie(*setup_.attack, work.round, *work.base)
                                    : setup_.learning->Train(setup_.number, work.round, *work.base),
      .lessons = lessons.size(),
      .contributors = SimContributors()};
  if (setup_.charges_first) {
    ASSIGN_OR_RETURN(made.reservation, Charge(made.contribution));
    if (!Survives()) {
      return absl::CancelledError("the process ended");
    }
    RETURN_IF_ERROR(ledger_->Spend(made.reservation));
  }
  return made;
}

sharing::LessonSampling SimNode::SamplingOf(uint64_t round,
                                            std::vector<std::string> lessons) const {
  return {.names = std::move(lessons),
          .units = federation::LessonUnits(setup_.plan->nominal_batch),
          .contributors = SimContributors(),
          .rate = 1,
          .oldest_joined = ledger_->OldestEligible(sharing::LedgerRoundOf(*setup_.plan, round),
                                                   setup_.learning->CostOf(masked()))};
}

privacy::ReleaseGuards SimNode::Guards(privacy::ConsentTier tier, privacy::ReleaseLedger& ledger) {
  privacy::dp::RandomBytes random = EntropyOf(random_.Next());
  return {.policy = SimPolicy(),
          .consents = SimConsents(),
          .node_tier = tier,
          .ledger = ledger,
          .random = std::move(random),
          .now_ms = now().wall_ms};
}

absl::StatusOr<sharing::LocalContribution> SimNode::MakeNoised(
    const sharing::ContributionWork& work, const std::vector<std::string>& lessons) {
  const federation::LearnerPlan& plan = *setup_.plan;
  sharing::PreparedSum sum{.round = work.round,
                           .sum = setup_.learning->TrainSum(setup_.number, work.round, *work.base),
                           .sampling = SamplingOf(work.round, lessons)};
  const privacy::UnitReleaseTerms terms =
      sharing::TermsOfRound(plan, work.round, sum.sampling, ledger_->budget(), kSimScope);
  if (!setup_.charges_shares) {
    ledger_->Defer();
  }
  MortalLedger ledger(*ledger_, [this] { return DiesInRelease(); });
  ASSIGN_OR_RETURN(
      privacy::PreparedUnits paid,
      PayForSum(plan, std::move(sum), terms, NewestCharged(), Guards(work.tier, ledger)));
  ASSIGN_OR_RETURN(federation::Contribution contribution,
                   GradientContribution(plan, work.round, *work.base, std::move(paid.units),
                                        federation::Contribution::Noise::kWhole));
  return sharing::LocalContribution{.contribution = std::move(contribution),
                                    .reservation = paid.reservation,
                                    .lessons = lessons.size(),
                                    .epsilon = paid.charge.epsilon,
                                    .contributors = SimContributors()};
}

void SimNode::NoteContribution(const federation::Item& item) {
  const std::string_view kind = IsPlain(item) ? "contribution" : "contribution with noise";
  if (IsPlain(item)) {
    audit_->Released(setup_.number, item.id, kind, IsCharged(disk_, SubjectOf(*item.payload)));
  } else {
    ++audit_->measures().noised;
    audit_->ReleasedInRound(setup_.number, item.round, item.id, kind,
                            IsCharged(disk_, SubjectOfRound(item.round)));
  }
  audit_->MadeFrom(setup_.number, item.id, kind, std::exchange(made_from_, {}));
}

uint64_t SimNode::NewestCharged() const {
  return setup_.charges_once ? ledger_->newest_round() : 0;
}

// A new record repeats the contents of the previous one while there is room, as OwnWithdrawals
// does.
std::vector<privacy::Withdrawal> SimNode::SignWithdrawals(const federation::Actions& actions) {
  std::set<Digest> withdrawn;
  for (const federation::Action& action : actions) {
    const auto* item = std::get_if<federation::ItemWithdrawn>(&action);
    if (item != nullptr && item->own) {
      withdrawn.insert(item->item.id);
    }
  }
  std::vector<privacy::Withdrawal> records;
  if (withdrawn.empty()) {
    return records;
  }
  const auto& earlier = disk_.Read().withdrawals;
  const int64_t withdrawn_ms =
      std::max(now().wall_ms, earlier.empty() ? 0 : earlier.back().withdrawn_ms);
  if (!earlier.empty() &&
      earlier.back().items.size() + withdrawn.size() <= limits::kMaxWithdrawnItems) {
    withdrawn.insert(earlier.back().items.begin(), earlier.back().items.end());
  }
  const std::vector<Digest> ids(withdrawn.begin(), withdrawn.end());
  for (size_t at = 0; at < ids.size(); at += limits::kMaxWithdrawnItems) {
    const size_t end = std::min(at + limits::kMaxWithdrawnItems, ids.size());
    auto record = privacy::Withdrawal::Sign({ids.begin() + static_cast<std::ptrdiff_t>(at),
                                             ids.begin() + static_cast<std::ptrdiff_t>(end)},
                                            /*everything=*/false, withdrawn_ms, identity().key);
    RUVD_CHECK(record.ok());
    disk_.AppendWithdrawal(*record);
    records.push_back(*std::move(record));
  }
  disk_.Sync();
  for (const Digest& id : ids) {
    audit_->Withdrawn(id);
  }
  return records;
}

}  // namespace ruvd::test
