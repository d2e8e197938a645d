// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a simulated node does for the rounds of its cluster, and what it takes back.

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "federation/learner/contribution.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {
namespace {

// A node withdraws one of its newest contributions, so that some are not settled yet.
constexpr size_t kNewestOwn = 5;
// How often an operator leaves the tier `masked` where others withdraw a contribution: whatever
// such a node gave since the last settled round takes the sums of its groups with it.
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
  if (masked()) {
    if (consent_.tier == setup_.tier && random_.Bernoulli(kLeaves)) {
      LeaveMasked();
    }
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

void SimNode::TickRounds() {
  if (auto checkpoint = rounds_->OnTime(*core_, now().wall_ms)) {
    OfferCheckpoint(*std::move(checkpoint));
  }
  if (core_ != nullptr && rounds_->masked() != nullptr) {
    TickMasked();
  }
  if (core_ == nullptr) {
    return;
  }
  if (auto saved = rounds_->TakeSavedState()) {
    SaveRounds(*std::move(saved));
  }
  rounds_->ExcludeIfChanged(*core_);
  if (training_ || (rounds_->masked() != nullptr && BeginSum()) || masked()) {
    return;
  }
  if (const auto round = rounds_->TakeDueRound();
      round && setup_.learning->Contributes(setup_.number, *round)) {
    BeginContribution(*round);
  }
}

void SimNode::OfferCheckpoint(federation::ClusterRounds::Checkpoint checkpoint) {
  if (consent_.tier == privacy::ConsentTier::kPrivate) {
    return;
  }
  if (adversary_ && adversary_->LiesInCheckpoints()) {
    auto state = federation::DecodeState(AsBytes(checkpoint.bytes), *setup_.plan);
    RUVD_CHECK(state.ok());
    std::ranges::fill(state->values[0], kFalseValue);
    checkpoint.bytes = EncodeState(*state, *setup_.plan);
  }
  auto offered = core_->OfferCheckpoint(checkpoint.round, std::move(checkpoint.bytes), now());
  RUVD_CHECK(offered.ok());
  Apply(*std::move(offered));
}

void SimNode::SaveRounds(std::string saved) {
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

// Training runs beside the core, from the state at its begin.
void SimNode::BeginContribution(uint64_t round) {
  training_ = true;
  const Duration after =
      setup_.attack ? Learning::kLiarsWait
                    : Duration(static_cast<int64_t>(
                          random_.Below(static_cast<uint64_t>(Learning::kTrainingSpread.count()))));
  queue_->After(after, [this, round, boot = boot_counter_, base = rounds_->StateBefore(round)] {
    if (boot_counter_ == boot) {
      Take([this, round, base] { EndContribution(round, base); });
    }
  });
}

// A node that has no budget left, or dies meanwhile, trains again in the next round.
void SimNode::EndContribution(uint64_t round, const federation::GlobalState& base) {
  training_ = false;
  OfferContribution(setup_.attack ? setup_.learning->Lie(*setup_.attack, round, base)
                                  : setup_.learning->Train(setup_.number, round, base))
      .IgnoreError();
}

// A new record repeats the contents of the previous one while there is room, as OwnWithdrawals
// does.
std::optional<privacy::Withdrawal> SimNode::SignWithdrawal(const federation::Actions& actions) {
  std::set<Digest> ids;
  for (const federation::Action& action : actions) {
    const auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action);
    if (withdrawn != nullptr && withdrawn->own) {
      ids.insert(withdrawn->item.id);
    }
  }
  if (ids.empty()) {
    return std::nullopt;
  }
  const auto& earlier = disk_.Read().withdrawals;
  if (!earlier.empty() && earlier.back().items.size() + ids.size() <= limits::kMaxWithdrawnItems) {
    ids.insert(earlier.back().items.begin(), earlier.back().items.end());
  }
  const int64_t withdrawn_ms =
      std::max(now().wall_ms, earlier.empty() ? 0 : earlier.back().withdrawn_ms);
  auto signed_now = privacy::Withdrawal::Sign({ids.begin(), ids.end()}, /*everything=*/false,
                                              withdrawn_ms, identity().key);
  RUVD_CHECK(signed_now.ok());
  disk_.AppendWithdrawal(*signed_now);
  disk_.Sync();
  for (const Digest& id : ids) {
    audit_->Withdrawn(id);
  }
  return *std::move(signed_now);
}

}  // namespace ruvd::test
