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

}  // namespace

RoundsModel::ContributionPtr RoundsModel::ContributionOf(const federation::Item& item) {
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
  votes_.clear();
}

void RoundsCheck::Accepted(const federation::Item& item) {
  if (item.kind == federation::ItemKind::kCheckpoint) {
    votes_.insert(Sha256(*item.payload));
  } else if (auto one = model_->ContributionOf(item)) {
    const uint64_t round = one->contribution.round;
    round_of_.emplace(item.id, round);
    rounds_[round].emplace(item.id, Counted{.contribution = std::move(one)});
  }
}

void RoundsCheck::Withdrawn(const federation::Item& item) {
  if (const auto one = model_->ContributionOf(item)) {
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
  return set;
}

bool RoundsCheck::IsWithWithdrawn(const federation::GlobalState& state) const {
  const auto gives = [&](const RoundsModel::Set& withdrawn) {
    RoundsModel::Set set = Counting(state_->round, state.round);
    set.insert(withdrawn.begin(), withdrawn.end());
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

void RoundsCheck::Settled(const federation::GlobalState& settled, bool expelled) {
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
  } else if (!expelled || !IsBegunAnew(settled)) {
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
}

void RoundsCheck::CheckState(const federation::GlobalState& state, uint64_t round,
                             const std::vector<federation::Item>& held) {
  RoundsModel::Set set;
  for (const federation::Item& item : held) {
    if (auto one = model_->ContributionOf(item)) {
      set.emplace(item.id, std::move(one));
    }
  }
  if (model_->After(*state_, set, round - 1) != state) {
    Differs(state, "has");
  }
}

}  // namespace ruvd::test
