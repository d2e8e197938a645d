// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/round_history.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/round_step.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status Sealed(uint64_t round, uint64_t checkpoint) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kRoundSealed,
               "round {} is settled: the checkpoint is of round {}, and later contributions to it "
               "and verdicts on it have no effect",
               round, checkpoint);
}

bool HasPart(const RoundContribution& one, const privacy::NodeId& member) {
  return one.origin == member || std::ranges::binary_search(one.members, member);
}

}  // namespace

absl::StatusOr<RoundHistory> RoundHistory::Create(LearnerPlan plan, GlobalState checkpoint) {
  RETURN_IF_ERROR(plan.Check());
  RETURN_IF_ERROR(CheckState(checkpoint, plan));
  return RoundHistory(std::move(plan), std::move(checkpoint));
}

absl::StatusOr<bool> RoundHistory::Admit(const Digest& id, uint64_t round) const {
  if (round <= checkpoint_.round) {
    return Sealed(round, checkpoint_.round);
  }
  if (round_of_.contains(id)) {
    return false;
  }
  if (round_of_.size() >= limits::kMaxItems) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} contributions and verdicts are kept already; seal older rounds first",
                 round_of_.size());
  }
  return true;
}

absl::StatusOr<bool> RoundHistory::Add(RoundContribution contribution) {
  RETURN_IF_ERROR(CheckRoundContribution(contribution, plan_));
  const uint64_t round = contribution.contribution.round;
  ASSIGN_OR_RETURN(const bool is_new, Admit(contribution.id, round));
  if (is_new) {
    round_of_.emplace(contribution.id, round);
    rounds_[round].contributions.emplace(contribution.id, std::move(contribution));
    Invalidate(round);
  }
  return is_new;
}

absl::StatusOr<bool> RoundHistory::AddVerdict(RoundVerdict verdict) {
  RETURN_IF_ERROR(CheckRoundVerdict(verdict, plan_));
  const uint64_t round = verdict.verdict.round;
  ASSIGN_OR_RETURN(const bool is_new, Admit(verdict.id, round));
  if (!is_new) {
    return false;
  }
  std::set<Digest> of_judge;
  for (const auto& [id, kept] : rounds_[round].verdicts) {
    if (kept.judge == verdict.judge) {
      of_judge.insert(id);
    }
  }
  if (of_judge.size() >= limits::kMaxVerdictsOfJudge) {
    const Digest last = *of_judge.rbegin();
    if (verdict.id > last) {
      return false;
    }
    round_of_.erase(last);
    rounds_[round].verdicts.erase(last);
  }
  const bool counts = of_judge.empty() || verdict.id < *of_judge.begin();
  round_of_.emplace(verdict.id, round);
  rounds_[round].verdicts.emplace(verdict.id, std::move(verdict));
  if (counts) {
    Invalidate(round);
  }
  return true;
}

absl::StatusOr<bool> RoundHistory::Remove(const Digest& id, uint64_t round) {
  if (round <= checkpoint_.round) {
    return Sealed(round, checkpoint_.round);
  }
  const auto known = round_of_.find(id);
  if (known == round_of_.end() || known->second != round) {
    return false;
  }
  round_of_.erase(known);
  const auto found = rounds_.find(round);
  found->second.contributions.erase(id);
  found->second.verdicts.erase(id);
  if (found->second.contributions.empty() && found->second.verdicts.empty()) {
    rounds_.erase(found);
  }
  Invalidate(round);
  return true;
}

bool RoundHistory::Remove(const Digest& id) {
  const auto known = round_of_.find(id);
  return known != round_of_.end() && Remove(id, known->second).value_or(false);
}

absl::StatusOr<bool> RoundHistory::RemoveMember(const privacy::NodeId& member) {
  std::vector<std::pair<Digest, uint64_t>> removed;
  for (const auto& [number, round] : rounds_) {
    for (const auto& [id, one] : round.contributions) {
      if (HasPart(one, member)) {
        removed.emplace_back(id, number);
      }
    }
    for (const auto& [id, verdict] : round.verdicts) {
      if (verdict.judge == member) {
        removed.emplace_back(id, number);
      }
    }
  }
  for (const auto& [id, round] : removed) {
    RETURN_IF_ERROR(Remove(id, round).status());
  }
  const auto sealed = checkpoint_.last_part.find(member);
  if (sealed != checkpoint_.last_part.end()) {
    return Sealed(sealed->second, checkpoint_.round);
  }
  return !removed.empty();
}

void RoundHistory::Invalidate(uint64_t round) {
  states_.erase(states_.lower_bound(round), states_.end());
  reports_.erase(reports_.lower_bound(round), reports_.end());
  changed_from_ = std::min(changed_from_.value_or(round), round);
}

const GlobalState& RoundHistory::StateBefore(uint64_t round) {
  changed_from_.reset();
  return Advance(round);
}

const GlobalState& RoundHistory::Advance(uint64_t round) {
  if (round <= checkpoint_.round + 1) {
    return checkpoint_;
  }
  // Only rounds without a state are computed; they follow those with one.
  const auto first =
      states_.empty() ? rounds_.begin() : rounds_.upper_bound(states_.rbegin()->first);
  for (auto it = first; it != rounds_.end() && it->first < round; ++it) {
    RoundSet set;
    for (const auto& [id, one] : it->second.contributions) {
      set.contributions.push_back(&one);
    }
    for (const auto& [id, verdict] : it->second.verdicts) {
      set.verdicts.push_back(&verdict);
    }
    GlobalState state = states_.empty() ? checkpoint_ : states_.rbegin()->second;
    if (!set.contributions.empty()) {
      ApplyRound(plan_, set, it->first, &state, &reports_[it->first]);
      ++rounds_computed_;
    }
    states_.emplace_hint(states_.end(), it->first, std::move(state));
  }
  const auto after = states_.lower_bound(round);
  current_ = after == states_.begin() ? checkpoint_ : std::prev(after)->second;
  current_.round = round - 1;
  return current_;
}

std::vector<const RoundContribution*> RoundHistory::ContributionsOf(uint64_t round) const {
  std::vector<const RoundContribution*> all;
  if (const auto found = rounds_.find(round); found != rounds_.end()) {
    for (const auto& [id, one] : found->second.contributions) {
      all.push_back(&one);
    }
  }
  return all;
}

size_t RoundHistory::contributions() const {
  size_t count = 0;
  for (const auto& [number, round] : rounds_) {
    count += round.contributions.size();
  }
  return count;
}

void RoundHistory::DropUpTo(uint64_t round) {
  for (auto it = rounds_.begin(); it != rounds_.end() && it->first <= round;) {
    for (const auto& [id, one] : it->second.contributions) {
      round_of_.erase(id);
    }
    for (const auto& [id, verdict] : it->second.verdicts) {
      round_of_.erase(id);
    }
    it = rounds_.erase(it);
  }
  states_.erase(states_.begin(), states_.upper_bound(round));
  reports_.erase(reports_.begin(), reports_.upper_bound(round));
}

void RoundHistory::Seal(uint64_t now_round) {
  if (now_round <= checkpoint_.round + plan_.window + 1) {
    return;
  }
  const uint64_t sealed = now_round - plan_.window - 1;
  checkpoint_ = Advance(sealed + 1);
  DropUpTo(sealed);
}

absl::Status RoundHistory::Adopt(GlobalState checkpoint) {
  RETURN_IF_ERROR(CheckState(checkpoint, plan_));
  checkpoint_ = std::move(checkpoint);
  DropUpTo(checkpoint_.round);
  Invalidate(0);
  changed_from_ = checkpoint_.round;
  return absl::OkStatus();
}

}  // namespace ruvd::federation
