// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_rounds.h"

#include <vector>

#include "base/status.h"
#include "federation/reasons.h"

namespace ruvd::test {
namespace {

federation::ClusterRounds MakeRounds(const RoundsModel& model, const privacy::NodeId& self,
                                     std::string_view saved, int64_t wall_ms) {
  absl::Status unused;
  auto rounds = federation::ClusterRounds::Create({.plan = model.plan(), .self = self}, saved,
                                                  wall_ms, &unused);
  RUVD_CHECK(rounds.ok());
  return *std::move(rounds);
}

}  // namespace

SimRounds::SimRounds(const RoundsModel& model, RoundsCheck& check, const privacy::NodeId& self,
                     std::string_view saved, int64_t wall_ms)
    : check_(&check), rounds_(MakeRounds(model, self, saved, wall_ms)) {
  check_->Started(rounds_.StateBefore(0));
}

void SimRounds::AddMasked(sharing::MaskedContributionsOptions options) {
  masked_.emplace(std::move(options));
}

void SimRounds::OnItem(const federation::Item& item) {
  if (masked_ && IsMaskItem(item.kind)) {
    check_->Accepted(item);
    masked_->OnItem(item);
  }
  if (!IsLearnerItem(item.kind)) {
    return;
  }
  check_->Accepted(item);
  const absl::Status taken = rounds_.OnItem(item);
  RUVD_CHECK(taken.ok() || ReasonOf(taken) == reasons::kRoundSealed);
  if (item.kind == federation::ItemKind::kCheckpoint) {
    Compare(/*may_begin_anew=*/false);
  }
}

void SimRounds::OnWithdrawn(const federation::Item& item) {
  check_->Withdrawn(item);
  rounds_.OnWithdrawn(item.id);
  if (masked_) {
    masked_->OnWithdrawn(item);
  }
}

void SimRounds::OnDropped(const Digest& id) {
  check_->Dropped(id);
  rounds_.OnDropped(id);
}

void SimRounds::OnDefect(std::span<const federation::Item> items) {
  for (const federation::Item& item : items) {
    (void)rounds_.OnItem(item);
  }
}

void SimRounds::ExcludeExpelled(const federation::GossipCore& core) {
  for (const federation::Member& member : core.Members()) {
    if (member.standing != federation::MemberStanding::kGood) {
      Exclude(member.id);
    }
  }
  std::vector<privacy::NodeId> parts;
  for (const auto& [member, round] : rounds_.StateBefore(rounds_.now_round()).last_part) {
    parts.push_back(member);
  }
  for (const privacy::NodeId& member : parts) {
    if (core.StandingOf(member) != federation::MemberStanding::kGood) {
      Exclude(member);
    }
  }
}

void SimRounds::Exclude(const privacy::NodeId& member) {
  rounds_.OnExpelled(member);
  Compare(/*may_begin_anew=*/true);
}

std::optional<federation::ClusterRounds::Checkpoint> SimRounds::OnTime(
    const federation::GossipCore& core, int64_t wall_ms) {
  const uint64_t before = rounds_.now_round();
  const uint64_t settled = rounds_.StateBefore(0).round;
  if (masked_) {
    masked_->CountSums(core, rounds_);
  }
  rounds_.OnTime(wall_ms);
  tried_ = std::min(tried_, rounds_.now_round());  // lower than before if the clock was set back
  std::optional<federation::ClusterRounds::Checkpoint> checkpoint = rounds_.TakeCheckpoint();
  if (checkpoint) {
    check_->Offers(*checkpoint);
  }
  if (rounds_.now_round() != before) {
    Compare(/*may_begin_anew=*/rounds_.now_round() < before && settled + 1 >= rounds_.now_round());
  }
  return checkpoint;
}

federation::Actions SimRounds::OnMaskedTime(federation::GossipCore& core, int64_t consent_since_ms,
                                            federation::Instant now) {
  return masked_->OnTick(core, rounds_, consent_since_ms, now);
}

bool SimRounds::CountSumsAgain(uint64_t round) {
  const RoundsModel::Set sums = check_->SumsOf(round);
  for (const auto& [id, sum] : sums) {
    RUVD_CHECK(rounds_.AddSum(*AgainInNextRound(*sum)).ok());
  }
  return !sums.empty();
}

void SimRounds::ExcludeIfChanged(const federation::GossipCore& core) {
  if (rounds_.TakeChanged()) {
    ExcludeExpelled(core);
  }
}

std::optional<uint64_t> SimRounds::TakeDueRound() {
  const uint64_t round = rounds_.now_round();
  if (tried_ >= round || rounds_.HasOwn(round)) {
    return std::nullopt;
  }
  tried_ = round;
  return round;
}

void SimRounds::Compare(bool may_begin_anew) {
  check_->Settled(rounds_.StateBefore(0), may_begin_anew);
}

}  // namespace ruvd::test
