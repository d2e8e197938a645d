// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/rounds_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "federation/learner/contribution.h"

namespace ruvd::test {
namespace {

// Long worlds forget what no node needs any more.
constexpr size_t kMaxContributions = 20'000;
constexpr size_t kMaxStates = 1000;
// A node that takes an older state counts the sums after it again.
constexpr uint64_t kRememberedWindows = 4;

}  // namespace

ContributionPtr AgainInNextRound(const federation::RoundContribution& sum) {
  federation::RoundContribution again = sum;
  again.id = again.origin = Sha256(AsText(sum.id));
  ++again.contribution.round;
  ++again.contribution.base_round;
  return std::make_shared<const federation::RoundContribution>(std::move(again));
}

ContributionPtr RoundsModel::ContributionOf(const federation::Item& item) {
  if (item.kind != federation::ItemKind::kContribution) {
    return nullptr;
  }
  ContributionPtr& known = contributions_[item.id];
  if (known == nullptr) {
    auto decoded = federation::DecodeContribution(AsBytes(*item.payload), *plan_);
    RUVD_CHECK(decoded.ok());  // the core accepted it
    known = std::make_shared<const federation::RoundContribution>(federation::RoundContribution{
        .id = item.id, .origin = item.origin, .members = {}, .contribution = *std::move(decoded)});
  }
  ContributionPtr result = known;
  if (contributions_.size() > kMaxContributions) {
    std::erase_if(contributions_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  return result;
}

federation::GlobalState RoundsModel::After(const federation::GlobalState& from, const Set& set,
                                           uint64_t until) {
  federation::RoundSet parts;
  ByteWriter ids;
  for (const auto& [id, one] : set) {
    if (one->contribution.round > from.round && one->contribution.round <= until) {
      parts.contributions.push_back(one.get());
      ids.WriteBytes(id);
    }
  }
  if (states_.size() > kMaxStates) {
    states_.clear();
  }
  const auto [place, is_new] =
      states_.try_emplace({from.DigestOf(*plan_), until, Sha256(ids.str())});
  if (is_new) {
    auto state = federation::ApplyRounds(*plan_, from, parts, until);
    RUVD_CHECK(state.ok());
    place->second = *std::move(state);
  }
  return place->second;
}

void RoundsCheck::Started(const federation::GlobalState& settled) {
  const bool is_new = settled == federation::EmptyState(model_->plan(), settled.round + 1);
  if (!is_new && !known_.contains(settled.DigestOf(model_->plan()))) {
    report_("history_differs",
            fmt::format("began with a state of round {} that it never settled", settled.round));
  }
  state_ = settled;
  withdrawn_earlier_ = withdrawn_;
  rounds_.clear();
  round_of_.clear();
  mask_items_.clear();
  votes_.clear();
}

void RoundsCheck::Accepted(const federation::Item& item) {
  if (item.kind == federation::ItemKind::kCheckpoint) {
    votes_.insert(Sha256(*item.payload));
  } else if (IsMaskItem(item.kind)) {
    mask_items_[item.round].emplace(item.id, item);
    mask_items_withdrawn_[item.round].emplace(item.id, item);
  } else if (auto one = model_->ContributionOf(item)) {
    const uint64_t round = one->contribution.round;
    round_of_.emplace(item.id, round);
    rounds_[round].emplace(item.id, Counted{.contribution = std::move(one)});
  }
}

void RoundsCheck::Withdrawn(const federation::Item& item) {
  if (IsMaskItem(item.kind)) {
    mask_items_[item.round].erase(item.id);
  } else if (const auto one = model_->ContributionOf(item)) {
    const uint64_t round = one->contribution.round;
    withdrawn_.emplace(item.id, one);
    rounds_[round].erase(item.id);
    round_of_.erase(item.id);
  }
}

void RoundsCheck::Dropped(const Digest& id) {
  const auto known = round_of_.find(id);
  if (known == round_of_.end()) {
    return;
  }
  if (state_ && known->second > state_->round) {
    rounds_[known->second].at(id).live = false;
  } else {
    rounds_[known->second].erase(id);
  }
  round_of_.erase(known);
}

RoundsModel::Set RoundsCheck::Counting(uint64_t after, uint64_t until) const {
  RoundsModel::Set set;
  for (auto it = rounds_.upper_bound(after); it != rounds_.end() && it->first <= until; ++it) {
    for (const auto& [id, counted] : it->second) {
      set.emplace(id, counted.contribution);
    }
  }
  AddSums(mask_items_, after, until, set);
  return set;
}

void RoundsCheck::AddSums(const MaskItems& items, uint64_t after, uint64_t until,
                          RoundsModel::Set& set) const {
  for (auto it = items.upper_bound(after); it != items.end() && it->first <= until; ++it) {
    const MaskedModel::Sums& sums = model_->masked().SumsOf(it->first, it->second);
    if (!sums.differs.empty()) {
      report_("masked_sum_differs", "finds " + sums.differs);
    }
    set.insert(sums.sums.begin(), sums.sums.end());
  }
}

RoundsModel::Set RoundsCheck::SumsOf(uint64_t round) const {
  RoundsModel::Set set;
  AddSums(mask_items_, round - 1, round, set);
  return set;
}

bool RoundsCheck::CountsSumTwice(const federation::GlobalState& state) const {
  if (state.round <= state_->round) {
    return false;
  }
  RoundsModel::Set sums;  // that of the settled round, too
  AddSums(mask_items_, state_->round - 1, state.round, sums);
  const RoundsModel::Set counting = Counting(state_->round, state.round);
  return std::ranges::any_of(sums, [&](const auto& entry) {
    const auto again = AgainInNextRound(*entry.second);
    RoundsModel::Set set = counting;
    set.emplace(again->id, again);
    return model_->After(*state_, set, state.round) == state;
  });
}

bool RoundsCheck::IsWithWithdrawn(const federation::GlobalState& state) const {
  const auto gives = [&](const RoundsModel::Set& withdrawn) {
    RoundsModel::Set set = Counting(state_->round, state.round);
    set.insert(withdrawn.begin(), withdrawn.end());
    AddSums(mask_items_withdrawn_, state_->round, state.round, set);
    return state.round > state_->round && model_->After(*state_, set, state.round) == state;
  };
  return gives(withdrawn_) || gives(withdrawn_earlier_) ||
         std::ranges::any_of(withdrawn_, [&](const auto& one) { return gives({one}); });
}

bool RoundsCheck::IsTaken(const federation::GlobalState& state) const {
  return votes_.contains(Sha256(EncodeState(state, model_->plan())));
}

bool RoundsCheck::IsBegunAnew(const federation::GlobalState& state) const {
  return state == federation::EmptyState(model_->plan(), state.round + 1);
}

void RoundsCheck::Differs(const federation::GlobalState& state, std::string_view what) {
  if (CountsSumTwice(state)) {
    report_("sum_counts_twice",
            fmt::format("{} a state of round {} with a sum in two rounds", what, state.round));
    return;
  }
  const bool with_withdrawn = IsWithWithdrawn(state);
  report_(
      with_withdrawn ? "withdrawn_counts" : "history_differs",
      fmt::format("{} a state of round {} that is not that of its items{}, after one of {}", what,
                  state.round, with_withdrawn ? ", but with those withdrawn" : "", state_->round));
}

void RoundsCheck::Offers(const federation::ClusterRounds::Checkpoint& checkpoint) {
  const auto expected =
      model_->After(*state_, Counting(state_->round, checkpoint.round), checkpoint.round);
  votes_.insert(Sha256(checkpoint.bytes));
  if (checkpoint.bytes == EncodeState(expected, model_->plan())) {
    return;
  }
  const auto offered = federation::DecodeState(AsBytes(checkpoint.bytes), model_->plan());
  RUVD_CHECK(offered.ok());
  Differs(*offered, "offers");
}

void RoundsCheck::Settled(const federation::GlobalState& settled, bool may_begin_anew) {
  if (settled == *state_) {
    return;
  }
  const bool is_next =
      settled.round > state_->round &&
      model_->After(*state_, Counting(state_->round, settled.round), settled.round) == settled;
  if (is_next) {
    ++settled_count_;
  } else if (IsTaken(settled)) {
    ++taken_count_;
  } else if (!may_begin_anew || !IsBegunAnew(settled)) {
    Differs(settled, "settled");
  }
  state_ = settled;
  known_.insert(settled.DigestOf(model_->plan()));
  // What expired is in the settled state, and is gone from a state that was taken.
  for (auto& [round, counted] : rounds_) {
    if (!is_next || round <= settled.round) {
      std::erase_if(counted, [](const auto& entry) { return !entry.second.live; });
    }
  }
  std::erase_if(rounds_, [](const auto& entry) { return entry.second.empty(); });
  const auto is_old = [&](const auto& entry) {
    return entry.first + kRememberedWindows * model_->plan().window < settled.round;
  };
  std::erase_if(mask_items_, is_old);
  std::erase_if(mask_items_withdrawn_, is_old);
}

void RoundsCheck::CheckState(const federation::GlobalState& state, uint64_t round,
                             const std::vector<federation::Item>& held) {
  RoundsModel::Set set;
  MaskItems masked;
  for (const federation::Item& item : held) {
    if (auto one = model_->ContributionOf(item)) {
      set.emplace(item.id, std::move(one));
    } else if (IsMaskItem(item.kind)) {
      masked[item.round].emplace(item.id, item);
    }
  }
  AddSums(masked, state_->round, round - 1, set);
  if (model_->After(*state_, set, round - 1) != state) {
    Differs(state, "has");
  }
}

}  // namespace ruvd::test
