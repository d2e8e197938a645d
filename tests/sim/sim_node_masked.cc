// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a simulated node does for masked sums and what a Byzantine one does in their place, and how
// its operator changes the tier. Only the gradients are simulated.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/masked/messages.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/sim_release.h"

namespace ruvd::test {
namespace {

// A node whose operator left its tier comes back to it after this time at most.
constexpr uint64_t kMaxPrivateMillis = 8000;
// How often an operator comes back to a process that does not run.
constexpr Duration kConsentRetry = std::chrono::seconds(1);
// A process that died within a release runs again after this time at most.
constexpr uint64_t kMaxDeadMillis = 10'000;

Duration Within(Random& random, uint64_t millis) {
  return std::chrono::milliseconds(static_cast<int64_t>(1 + random.Below(millis)));
}

absl::Status NothingToGive() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "no lesson may take part in this round; wait for the next one");
}

absl::Status LessonGone(const std::string& lesson) {
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "{} was withdrawn meanwhile; the next round makes another sum", lesson);
}

}  // namespace

void SimNode::DieInRelease(size_t steps, bool power_cut) {
  steps_to_live_ = steps;
  dies_by_power_cut_ = power_cut;
}

bool SimNode::DiesInRelease() {
  audit_->LedgerCharged(setup_.number, ledger_->spent());  // what is spent stays, if it dies now
  if (!ledger_->charged_twice().empty()) {
    audit_->ChargedTwice(setup_.number, ledger_->charged_twice());
  }
  doomed_ = doomed_ || (steps_to_live_ && (*steps_to_live_)-- == 0);
  return doomed_;
}

absl::Status SimNode::CheckLessons(const sharing::PreparedSum& sum) {
  const std::vector<std::string> lessons = Lessons();
  for (const std::string& lesson : sum.sampling.names) {
    if (!std::ranges::binary_search(lessons, lesson)) {
      return LessonGone(lesson);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<sharing::NoisedShare> SimNode::NoiseShare(const sharing::PreparedSum& sum,
                                                         const privacy::masking::Clique& clique) {
  RETURN_IF_ERROR(CheckLessons(sum));
  ASSIGN_OR_RETURN(
      sharing::NoisedShare share,
      sharing::NoiseShare(
          *setup_.plan, sum, clique,
          TermsOfRound(*setup_.plan, sum.round, sum.sampling, ledger_->budget(), kSimScope),
          NewestCharged(), Guards(privacy::ConsentTier::kMasked, *ledger_)));
  put_in_ = {.set = clique.SetHash(), .units = share.input.units, .lessons = sum.sampling.names};
  put_in_->units.front() += setup_.says_input ? 0 : 1;
  return share;
}

absl::StatusOr<uint64_t> SimNode::PayForShare(const sharing::PreparedSum& sum,
                                              const privacy::LedgerCharge& charge) {
  if (keeps_share_) {
    return NothingToGive();
  }
  RETURN_IF_ERROR(CheckLessons(sum));
  if (!setup_.charges_shares) {
    ledger_->Defer();
  }
  MortalLedger ledger(*ledger_, [this] { return DiesInRelease(); });
  return sharing::PayForShare(
      *setup_.plan, sum, charge,
      TermsOfRound(*setup_.plan, sum.round, sum.sampling, ledger_->budget(), kSimScope),
      NewestCharged(), Guards(privacy::ConsentTier::kMasked, ledger));
}

absl::StatusOr<sharing::NoisedShare> SimNode::LieInShare(const sharing::PreparedSum& sum,
                                                         const privacy::masking::Clique& clique) {
  enum class Lie : uint8_t {
    kNoise,
    kOtherSet,
    kUncommitted,
    kTwoShares,
    kLarge,
    kWithheld,
    kNothing
  };
  const ShareLies lies = LiesInShares();
  const Lie lie = lies == ShareLies::kNoise      ? Lie::kNoise
                  : lies == ShareLies::kWithheld ? Lie::kWithheld
                                                 : Lie{static_cast<uint8_t>(random_.Below(7))};
  keeps_share_ = lie == Lie::kWithheld;
  if (lie == Lie::kNothing) {
    return NothingToGive();
  }
  if (lie != Lie::kLarge && lie != Lie::kWithheld) {
    false_share_ = FalseShare{.round = sum.round,
                              .set = clique.SetHash(),
                              .named = lie == Lie::kOtherSet ? Digest{7} : clique.SetHash(),
                              .commits = lie != Lie::kUncommitted};
  }
  if (lie == Lie::kNoise || lie == Lie::kOtherSet || lie == Lie::kUncommitted) {
    return NothingToGive();
  }
  ASSIGN_OR_RETURN(sharing::NoisedShare share, NoiseShare(sum, clique));
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
    const auto set = federation::DecodeMaskSet(
        AsBytes(*item.payload), privacy::ClusterIdOf(identity().config.certificate.issuer.root));
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
  const auto attempt = static_cast<uint8_t>(own->payload->front());
  const std::string share =
      federation::EncodeMaskShare({.attempt = attempt, .salt = {}, .update = std::move(update)});
  const auto offer = [&](federation::ItemKind kind, const std::string& payload) {
    auto offered = core_->OfferMasked(kind, lie.round, payload, now());
    if (offered.ok()) {
      Apply(*std::move(offered));
    }
  };
  if (lie.commits) {
    offer(federation::ItemKind::kMaskCommitment,
          federation::EncodeMaskCommitment({.attempt = attempt,
                                            .round = lie.round,
                                            .set = lie.named,
                                            .layout = layout.Hash(),
                                            .share = federation::CommitmentTo(share)}));
  }
  if (core_ != nullptr) {
    offer(federation::ItemKind::kMaskShare, share);
  }
}

void SimNode::DieInThisRelease(size_t* deaths) {
  doomed_ = false;
  steps_to_live_.reset();
  ++*deaths;
  Die();
  queue_->After(Within(random_, kMaxDeadMillis), [this] {
    if (core_ == nullptr) {
      Start();
    }
  });
}

// The share of a set hides what was put in for that set.
void SimNode::NoteShare(const federation::Item& item) {
  const auto share = federation::DecodeMaskShareHead(AsBytes(*item.payload));
  RUVD_CHECK(share.ok());
  if (put_in_ && put_in_->set == share->update.set) {
    setup_.learning->model().masked().Gave(*item.payload, std::move(put_in_->units));
    audit_->MadeFrom(setup_.number, item.id, "share", put_in_->lessons);
    put_in_.reset();
  }
  if (!adversary_) {
    ++audit_->measures().masked_shares;
    audit_->ReleasedInRound(setup_.number, item.round, item.id, "share",
                            IsCharged(disk_, SubjectOfRound(item.round)));
  }
}

void SimNode::Begin(const sharing::SumWork& work) {
  using Made = absl::StatusOr<std::optional<sharing::PreparedSum>>;
  // A node announces itself in a round for the next one.
  if (!work.work.sum) {
    rounds_->node().EndSum(
        work, setup_.learning->IsOpen(work.work.round) ? Made(std::nullopt) : Made(NothingToGive()),
        Duration{});
    return;
  }
  const Duration after(static_cast<int64_t>(
      random_.Below(static_cast<uint64_t>(Learning::kGradientSpread.count()))));
  queue_->After(after, [this, work, after, lessons = Lessons(), boot = boot_counter_] {
    if (boot_counter_ == boot) {
      Take([this, work, after, lessons] { EndSum(work, lessons, after); });
    }
  });
}

void SimNode::EndSum(const sharing::SumWork& work, std::vector<std::string> lessons,
                     Duration took) {
  const uint64_t round = work.work.round;
  if (!setup_.learning->IsOpen(round)) {
    rounds_->node().EndSum(work, NothingToGive(), took);
    return;
  }
  rounds_->node().EndSum(
      work,
      sharing::PreparedSum{.round = round,
                           .sum = setup_.learning->TrainSum(setup_.number, round, *work.base),
                           .sampling = SamplingOf(round, std::move(lessons))},
      took);
}

// As the federation actor does: what is being made is not offered, and what was given is taken back
// before the new tier is stored.
void SimNode::SetTier(privacy::ConsentTier tier) {
  rounds_->node().OnSharingChanged();
  Apply(core_->WithdrawContributions());
  if (core_ == nullptr) {
    return;
  }
  consent_ = privacy::ConsentRecord::Sign(tier, now().wall_ms, identity().key);
  disk_.PutConsent(consent_);
  disk_.Sync();
  auto changed = core_->SetConsent(consent_, now());
  RUVD_CHECK(changed.ok());
  Apply(*std::move(changed));
}

void SimNode::LeaveTier() {
  SetTier(privacy::ConsentTier::kPrivate);
  queue_->After(Within(random_, kMaxPrivateMillis), [this] { ReturnToTier(); });
}

void SimNode::ReturnToTier() {
  if (core_ == nullptr || paused_) {
    queue_->After(kConsentRetry, [this] { ReturnToTier(); });
  } else {
    SetTier(setup_.tier);
  }
}

}  // namespace ruvd::test
