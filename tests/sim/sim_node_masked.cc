// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a simulated node does for masked sums, and what a Byzantine one does in their place. Only
// the gradients are simulated.

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/masked/messages.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/reasons.h"
#include "privacy/release/unit_release.h"
#include "tests/federation/fixture.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {
namespace {

constexpr double kDelta = 1e-6;
// A node whose operator left the tier `masked` comes back to it after this time at most.
constexpr uint64_t kMaxPrivateMillis = 8000;
// How often an operator comes back to a process that does not run.
constexpr Duration kConsentRetry = std::chrono::seconds(1);
// A process that died within a release runs again after this time at most.
constexpr uint64_t kMaxDeadMillis = 10'000;

const privacy::SitePolicy& Policy() {
  static const auto* const policy = new privacy::SitePolicy([] {
    auto parsed = privacy::SitePolicy::Parse(
        "version = 1\n[scope.lab]\ntiers = [\"masked\"]\n"
        "purposes = [\"training\", \"sharing\"]\n");
    RUVD_CHECK(parsed.ok());
    return *std::move(parsed);
  }());
  return *policy;
}

// All lessons of all nodes are of one user, who consented long ago and for long.
const std::vector<privacy::Contributor>& Contributors() {
  static const auto* const contributors =
      new std::vector<privacy::Contributor>{{.user = "ann", .session = ""}};
  return *contributors;
}
const privacy::ConsentRegister& Consents() {
  static const auto* const consents = new privacy::ConsentRegister([] {
    privacy::ConsentRegister made;
    RUVD_CHECK(made.Put({.subject = {.id = "ann"},
                         .purposes = privacy::consent_purposes::kAll,
                         .widest = privacy::ConsentTier::kMasked,
                         .granted_ms = kWallStart - kDayMillis,
                         .expires_ms = kWallStart + 365 * kDayMillis})
                   .ok());
    return made;
  }());
  return *consents;
}

Duration Within(Random& random, uint64_t millis) {
  return std::chrono::milliseconds(static_cast<int64_t>(1 + random.Below(millis)));
}

privacy::ClusterId ClusterOf(const Identity& identity) {
  return privacy::ClusterIdOf(identity.config.certificate.issuer);
}

absl::Status NothingToGive() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "no lesson may take part in this round; wait for the next one");
}

// A ledger whose process may die before and after each step.
class MortalLedger final : public privacy::ReleaseLedger {
 public:
  MortalLedger(privacy::ReleaseLedger& ledger, std::function<bool()> dies)
      : ledger_(&ledger), dies_(std::move(dies)) {}

  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override {
    if (dies_()) {
      return Dead();
    }
    ASSIGN_OR_RETURN(const uint64_t reservation, ledger_->Reserve(charge));
    return dies_() ? absl::StatusOr<uint64_t>(Dead()) : reservation;
  }
  absl::Status Spend(uint64_t reservation) override {
    RETURN_IF_ERROR(ledger_->Spend(reservation));
    return dies_() ? Dead() : absl::OkStatus();
  }
  absl::Status Release(uint64_t reservation) override { return ledger_->Release(reservation); }

 private:
  static absl::Status Dead() { return absl::CancelledError("the process ended"); }

  privacy::ReleaseLedger* ledger_;
  std::function<bool()> dies_;
};

}  // namespace

sharing::MaskedContributionsOptions SimNode::MaskedOptions() {
  return {.plan = setup_.plan,
          .cluster = ClusterOf(identity()),
          .self = identity().key.id(),
          .release =
              [this](const sharing::PreparedSum& sum, const privacy::masking::Clique& clique) {
                return adversary_ && adversary_->LiesInShares() ? LieInShare(sum, clique)
                                                                : ReleaseShare(sum, clique);
              },
          .sent = [this](uint64_t reservation) { sent_ = reservation; },
          .last_reservation = [this] { return ledger_->newest(); },
          .random = EntropyOf(random_.Next())};
}

void SimNode::DieInRelease(size_t steps, bool power_cut) {
  steps_to_live_ = steps;
  dies_by_power_cut_ = power_cut;
}

bool SimNode::DiesInRelease() {
  doomed_ = doomed_ || (steps_to_live_ && (*steps_to_live_)-- == 0);
  return doomed_;
}

absl::StatusOr<sharing::ReleasedShare> SimNode::ReleaseShare(
    const sharing::PreparedSum& sum, const privacy::masking::Clique& clique) {
  // As LocalContributor: a sum is for one share, also after a restart.
  if (ledger_->newest_round() >= sum.round) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kPrivacyBudgetSpent,
                 "this node was charged for round {} already", sum.round);
  }
  if (!setup_.charges_shares) {
    ledger_->Defer();
  }
  MortalLedger ledger(*ledger_, [this] {
    audit_->LedgerCharged(setup_.number, ledger_->spent());  // what is spent stays, if it dies now
    return DiesInRelease();
  });
  ASSIGN_OR_RETURN(
      privacy::PreparedUnitShare share,
      PrepareUnitShare(
          {.scope = "lab",
           .grid = setup_.plan->grid,
           .sampling_rate = 1,
           .delta = kDelta,
           .round = sum.round,
           .oldest_joined = ledger_->OldestEligible(sum.round, setup_.learning->share_cost()),
           .subject = SubjectOfShare(sum.round)},
          {.policy = Policy(),
           .consents = Consents(),
           .node_tier = consent_.tier,
           .ledger = ledger,
           .random = EntropyOf(random_.Next()),
           .now_ms = now().wall_ms},
          sum.sum, Contributors(), federation::LayoutOfSums(*setup_.plan), clique));
  put_in_ = {.set = clique.SetHash(), .units = share.input.units};
  put_in_->units.front() += setup_.says_input ? 0 : 1;
  return sharing::ReleasedShare{.input = std::move(share.input),
                                .lessons = sum.sampling.names.size(),
                                .epsilon = share.charge.epsilon};
}

absl::StatusOr<sharing::ReleasedShare> SimNode::LieInShare(const sharing::PreparedSum& sum,
                                                           const privacy::masking::Clique& clique) {
  enum class Lie : uint8_t { kNoise, kOtherSet, kTwoShares, kLarge, kNothing };
  const Lie lie = Lie{static_cast<uint8_t>(random_.Below(5))};
  if (lie == Lie::kNothing) {
    return NothingToGive();
  }
  if (lie != Lie::kLarge) {
    false_share_ = FalseShare{.round = sum.round,
                              .set = clique.SetHash(),
                              .named = lie == Lie::kOtherSet ? Digest{7} : clique.SetHash()};
  }
  if (lie == Lie::kNoise || lie == Lie::kOtherSet) {
    return NothingToGive();
  }
  ASSIGN_OR_RETURN(sharing::ReleasedShare share, ReleaseShare(sum, clique));
  if (lie == Lie::kLarge) {
    const auto most =
        federation::LayoutOfSums(*setup_.plan).MaxUnitsPerMember(clique.members.size());
    RUVD_CHECK(most.ok());
    std::ranges::fill(share.input.units, static_cast<int32_t>(*most));
    put_in_->units = share.input.units;
  }
  return share;
}

// Says in its own name what MaskedContributions would not.
void SimNode::OfferFalseShare() {
  if (!false_share_) {
    return;
  }
  const FalseShare lie = *std::exchange(false_share_, std::nullopt);
  const federation::LearnerPlan& plan = *setup_.plan;
  const std::vector<federation::Item> items = core_->Items();
  const auto own = std::ranges::find_if(items, [&](const federation::Item& item) {
    if (item.kind != federation::ItemKind::kMaskSet || item.origin != identity().key.id()) {
      return false;
    }
    const auto set = federation::DecodeMaskSet(AsBytes(*item.payload), ClusterOf(identity()));
    return set.ok() && set->clique.SetHash() == lie.set;
  });
  if (own == items.end()) {
    return;
  }
  const privacy::masking::MaskLayout layout = federation::LayoutOfSums(plan);
  privacy::masking::MaskedUpdate update{.round = lie.round,
                                        .sender = identity().key.id(),
                                        .set = lie.named,
                                        .layout = layout.Hash(),
                                        .values = std::vector<uint32_t>(layout.Values())};
  std::ranges::generate(update.values, [this] { return static_cast<uint32_t>(random_.Next()); });
  auto offered = core_->OfferMasked(
      federation::ItemKind::kMaskShare, lie.round,
      federation::EncodeMaskShare(
          {.attempt = static_cast<uint8_t>(own->payload->front()), .update = std::move(update)}),
      now());
  if (offered.ok()) {
    Apply(*std::move(offered));
  }
}

void SimNode::TickMasked() {
  federation::Actions actions = rounds_->OnMaskedTime(*core_, consent_.since_ms, now());
  if (std::exchange(doomed_, false)) {
    steps_to_live_.reset();
    ++deaths_in_releases_;
    Die();
    queue_->After(Within(random_, kMaxDeadMillis), [this] {
      if (core_ == nullptr) {
        Start();
      }
    });
    return;
  }
  Apply(std::move(actions));
  if (!Survives()) {
    return;
  }
  if (!setup_.charges_shares) {
    ledger_->Flush();
  }
  if (const uint64_t sent = std::exchange(sent_, 0); sent != 0 && setup_.charges_shares) {
    RUVD_CHECK(ledger_->Release(sent).ok());
  }
  OfferFalseShare();
}

// The share of a set hides what was put in for that set.
void SimNode::NoteShare(const federation::Item& item) {
  const auto share = federation::DecodeMaskShareHead(AsBytes(*item.payload));
  RUVD_CHECK(share.ok());
  if (put_in_ && put_in_->set == share->update.set) {
    setup_.learning->model().masked().Gave(*item.payload, std::move(put_in_->units));
    put_in_.reset();
  }
  if (!adversary_) {
    audit_->ReleasedShare(setup_.number, item.round, item.id,
                          IsCharged(disk_, SubjectOfShare(item.round)));
  }
}

bool SimNode::BeginSum() {
  const auto work = rounds_->masked()->TakeWork();
  if (!work) {
    return false;
  }
  // A node announces itself in a round for the next one.
  if (!work->sum) {
    rounds_->masked()->SetChecked(setup_.learning->IsOpen(work->round + 1) ? absl::OkStatus()
                                                                           : NothingToGive());
    return true;
  }
  training_ = true;
  const Duration after(static_cast<int64_t>(
      random_.Below(static_cast<uint64_t>(Learning::kGradientSpread.count()))));
  queue_->After(after, [this, after, round = work->round, boot = boot_counter_,
                        base = rounds_->StateBefore(work->round)] {
    if (boot_counter_ == boot) {
      Take([this, after, round, base] { EndSum(round, base, after); });
    }
  });
  return true;
}

void SimNode::EndSum(uint64_t round, const federation::GlobalState& base, Duration took) {
  training_ = false;
  if (!setup_.learning->IsOpen(round)) {
    rounds_->masked()->SetSum(round, NothingToGive(), took);
    return;
  }
  rounds_->masked()->SetSum(
      round,
      sharing::PreparedSum{
          .round = round,
          .sum = setup_.learning->TrainSum(setup_.number, round, base),
          .sampling = {.names = {"lessons"},
                       .units = federation::LessonUnits(setup_.plan->nominal_batch),
                       .contributors = Contributors(),
                       .rate = 1}},
      took);
}

void SimNode::SetTier(privacy::ConsentTier tier) {
  consent_ = privacy::ConsentRecord::Sign(tier, now().wall_ms, identity().key);
  disk_.PutConsent(consent_);
  disk_.Sync();
  auto changed = core_->SetConsent(consent_, now());
  RUVD_CHECK(changed.ok());
  Apply(*std::move(changed));
}

void SimNode::LeaveMasked() {
  SetTier(privacy::ConsentTier::kPrivate);
  queue_->After(Within(random_, kMaxPrivateMillis), [this] { ReturnToMasked(); });
}

void SimNode::ReturnToMasked() {
  if (core_ == nullptr || paused_) {
    queue_->After(kConsentRetry, [this] { ReturnToMasked(); });
  } else {
    SetTier(privacy::ConsentTier::kMasked);
  }
}

}  // namespace ruvd::test
