// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_rounds.h"

#include <utility>

#include "base/status.h"

namespace ruvd::test {
SimRounds::SimRounds(RoundsCheck& check, sharing::NodeRoundsOptions options, std::string_view saved,
                     federation::Instant now)
    : check_(&check) {
  masks_ = options.plan->kind == federation::ContributionKind::kGradient;
  options.edit_checkpoint = [this, edit = std::move(options.edit_checkpoint)](
                                federation::ClusterRounds::Checkpoint& checkpoint) {
    check_->Offers(checkpoint);
    if (edit) {
      edit(checkpoint);
    }
  };
  auto rounds = sharing::NodeRounds::Create(std::move(options), saved, now);
  RUVD_CHECK(rounds.ok());
  rounds_ = *std::move(rounds);
  check_->Started(StateBefore(0));
}

void SimRounds::OnItem(const federation::Item& item) {
  if (IsMaskItem(item.kind) ? !masks_ : !IsLearnerItem(item.kind)) {
    return;
  }
  check_->Accepted(item);
  RUVD_CHECK(rounds_->OnItem(item).ok());
  if (item.kind == federation::ItemKind::kCheckpoint) {
    Compare(/*may_begin_anew=*/false);
  }
}

void SimRounds::OnWithdrawn(const federation::Item& item) {
  check_->Withdrawn(item);
  rounds_->OnWithdrawn(item);
}

void SimRounds::OnDropped(const federation::ItemDropped& dropped) {
  check_->Dropped(dropped.id);
  rounds_->OnDropped(dropped);
}

void SimRounds::OnDefect(std::span<const federation::Item> items) {
  for (const federation::Item& item : items) {
    (void)rounds_->cluster().OnItem(item);
  }
}

void SimRounds::ExcludeExpelled(const federation::GossipCore& core) {
  rounds_->ExcludeExpelled(core);
  Compare(/*may_begin_anew=*/true);
}

sharing::RoundsOutput SimRounds::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                                        federation::Instant now) {
  const uint64_t before = now_round();
  const uint64_t settled = StateBefore(0).round;
  sharing::RoundsOutput output = rounds_->OnTick(core, consent_since_ms, now);
  RUVD_CHECK(output.checkpoint.ok());
  const bool back = now_round() < before && settled + 1 >= now_round();
  if (now_round() != before || output.excluded) {
    Compare(/*may_begin_anew=*/back || output.excluded);
  }
  return output;
}

bool SimRounds::CountSumsAgain(uint64_t round) {
  const RoundsModel::Set sums = check_->SumsOf(round);
  for (const auto& [id, sum] : sums) {
    RUVD_CHECK(rounds_->cluster().AddSum(*AgainInNextRound(*sum)).ok());
  }
  return !sums.empty();
}

void SimRounds::Compare(bool may_begin_anew) {
  check_->Settled(StateBefore(0), may_begin_anew);
}

}  // namespace ruvd::test
