// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/cluster_rounds.h"

#include <algorithm>
#include <ranges>
#include <tuple>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/learner/verdict.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

// The first round whose contributions may be needed and are still alive.
uint64_t FirstLive(const LearnerPlan& plan, uint64_t now_round) {
  const uint64_t back = 2 * uint64_t{plan.window} + 2;
  return now_round > back ? now_round - back : 1;
}

bool IsMember(const RoundContribution& sum, const privacy::NodeId& node) {
  return std::ranges::binary_search(sum.members, node);
}

}  // namespace

ClusterRounds::ClusterRounds(const privacy::NodeId& self, RoundHistory history, bool is_new,
                             uint64_t now_round)
    : self_(self),
      history_(std::move(history)),
      new_(is_new),
      begin_round_(now_round),
      now_round_(now_round),
      settle_from_(now_round + history_.plan().window) {}

absl::StatusOr<ClusterRounds> ClusterRounds::Create(const Options& options, std::string_view saved,
                                                    int64_t wall_ms, absl::Status* unused) {
  RETURN_IF_ERROR(options.plan.Check());
  const uint64_t now_round = RoundAt(options.plan, wall_ms);
  std::optional<GlobalState> state;
  if (!saved.empty()) {
    auto decoded = DecodeState(AsBytes(saved), options.plan);
    *unused = decoded.status();
    if (decoded.ok() && decoded->round > now_round) {
      *unused = Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                      "the saved state is of round {}, but round {} is running; set the clock",
                      decoded->round, now_round);
    } else if (decoded.ok()) {
      state = *std::move(decoded);
    }
  }
  const bool is_new = !state;
  if (is_new) {
    state = EmptyState(options.plan, FirstLive(options.plan, now_round));
  }
  ASSIGN_OR_RETURN(RoundHistory history, RoundHistory::Create(options.plan, *std::move(state)));
  return ClusterRounds(options.self, std::move(history), is_new, now_round);
}

absl::Status ClusterRounds::OnItem(const Item& item) {
  if (expelled_.contains(item.origin)) {
    return absl::OkStatus();
  }
  if (item.kind == ItemKind::kContribution) {
    live_.emplace(item.id, item);
    return AddContribution(item);
  }
  if (item.kind == ItemKind::kVerdict) {
    live_.emplace(item.id, item);
    return AddVerdict(item);
  }
  return item.kind == ItemKind::kCheckpoint ? AddVote(item) : absl::OkStatus();
}

void ClusterRounds::NoteChange(uint64_t round) {
  changed_ |= round == 0 || round < now_round_;
  if (round == 0 || round + 1 < now_round_) {
    compared_.reset();
  }
}

absl::Status ClusterRounds::AddContribution(const Item& item) {
  ASSIGN_OR_RETURN(Contribution contribution, DecodeContribution(AsBytes(*item.payload), plan()));
  const uint64_t round = contribution.round;
  ASSIGN_OR_RETURN(const bool added, history_.Add({.id = item.id,
                                                   .origin = item.origin,
                                                   .attempt = 0,
                                                   .members = {},
                                                   .contribution = std::move(contribution)}));
  if (added) {
    NoteChange(round);
  }
  return absl::OkStatus();
}

absl::Status ClusterRounds::AddVerdict(const Item& item) {
  ASSIGN_OR_RETURN(Verdict verdict, DecodeVerdict(AsBytes(*item.payload), plan()));
  const uint64_t round = verdict.round;
  ASSIGN_OR_RETURN(
      const bool added,
      history_.AddVerdict({.id = item.id, .judge = item.origin, .verdict = std::move(verdict)}));
  if (added) {
    NoteChange(round);
  }
  return absl::OkStatus();
}

absl::Status ClusterRounds::AddSum(RoundContribution sum) {
  RETURN_IF_ERROR(CheckRoundContribution(sum, plan()));
  if (sum.members.empty() || sum.id != sum.origin) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "a contribution of {} member(s) is no sum of a clique; add it as an item",
                 sum.contribution.members);
  }
  const bool has_expelled = std::ranges::any_of(
      sum.members, [this](const privacy::NodeId& member) { return expelled_.contains(member); });
  const uint64_t round = sum.contribution.round;
  if (has_expelled || round < FirstLiveRound()) {
    return absl::OkStatus();
  }
  sums_.emplace(sum.id, sum);
  ASSIGN_OR_RETURN(const bool added, history_.Add(std::move(sum)));
  if (added) {
    NoteChange(round);
  }
  return absl::OkStatus();
}

absl::Status ClusterRounds::AddVote(const Item& item) {
  RETURN_IF_ERROR(DecodeState(AsBytes(*item.payload), plan()).status());
  if (item.origin == self_) {
    return absl::OkStatus();
  }
  const auto same = std::ranges::find_if(votes_, [&](const auto& entry) {
    return entry.second.voter == item.origin && entry.second.round == item.round;
  });
  if (same != votes_.end()) {
    if (std::tie(same->second.created_ms, same->first) > std::tie(item.created_ms, item.id)) {
      return absl::OkStatus();
    }
    votes_.erase(same);
  }
  votes_[item.id] = {.voter = item.origin,
                     .round = item.round,
                     .state = Sha256(*item.payload),
                     .payload = item.payload,
                     .created_ms = item.created_ms};
  ForgetVotes();
  CountVotes();
  return absl::OkStatus();
}

void ClusterRounds::ForgetVotes() {
  std::map<privacy::NodeId, uint64_t> newest;
  for (const auto& [id, vote] : votes_) {
    uint64_t& round = newest[vote.voter];
    round = std::max(round, vote.round);
  }
  const uint64_t boundary = CheckpointRound(plan(), now_round_);
  // Then the item has expired, too: see LearnerLifeMillis.
  const uint64_t lives = 3 * uint64_t{plan().window} + 4;
  std::erase_if(votes_, [&](const auto& entry) {
    const Vote& vote = entry.second;
    return (vote.round != boundary && vote.round != newest.at(vote.voter)) ||
           vote.round + lives < now_round_;
  });
}

void ClusterRounds::OnWithdrawn(const Digest& id) {
  sums_.erase(id);
  if (history_.Remove(id)) {
    NoteChange(0);
  }
  live_.erase(id);
  votes_.erase(id);
}

bool ClusterRounds::OnExpelled(const privacy::NodeId& member) {
  if (!expelled_.insert(member).second) {
    return false;
  }
  std::erase_if(live_, [&](const auto& entry) { return entry.second.origin == member; });
  std::erase_if(sums_, [&](const auto& entry) { return IsMember(entry.second, member); });
  std::erase_if(votes_, [&](const auto& entry) { return entry.second.voter == member; });
  const absl::StatusOr<bool> removed = history_.RemoveMember(member);
  if (removed.value_or(true)) {
    NoteChange(0);
  }
  if (removed.ok()) {
    return *removed;
  }
  const uint64_t round = std::max<uint64_t>(CheckpointRound(plan(), now_round_), 1);
  GlobalState empty = EmptyState(plan(), round + 1);
  boundary_ = {.round = round, .state = Sha256(EncodeState(empty, plan()))};
  own_vote_.reset();
  Adopt(std::move(empty));
  return true;
}

void ClusterRounds::OnTime(int64_t wall_ms) {
  const uint64_t round = RoundAt(plan(), wall_ms);
  if (round + 1 < now_round_) {
    GoBack(round);
  }
  if (round <= now_round_) {
    return;
  }
  if (round > now_round_ + 1) {
    settle_from_ = round + plan().window;
    leapt_to_ = round;
    boundary_.reset();
    own_vote_.reset();
  }
  now_round_ = round;
  NoteChange(0);
  ForgetVotes();
  std::erase_if(
      sums_, [&](const auto& entry) { return entry.second.contribution.round < FirstLiveRound(); });
  const uint64_t boundary = CheckpointRound(plan(), round);
  if (boundary > 0 && (!boundary_ || boundary > boundary_->round) &&
      boundary >= history_.checkpoint().round) {
    PassBoundary(boundary);
  }
  if (round >= settle_from_) {
    history_.Seal(round);
  }
  save_ |= history_.checkpoint().round != saved_round_;
  CountVotes();
}

void ClusterRounds::GoBack(uint64_t round) {
  begin_round_ = round;
  now_round_ = round;
  settle_from_ = round + plan().window;
  leapt_to_ = 0;
  std::erase_if(votes_, [&](const auto& entry) { return entry.second.round > round; });
  boundary_.reset();
  own_vote_.reset();
  to_offer_.reset();
  NoteChange(0);
  if (history_.checkpoint().round + 1 >= round) {
    new_ = true;
    Adopt(EmptyState(plan(), FirstLive(plan(), round)));
  }
  CountVotes();
}

void ClusterRounds::PassBoundary(uint64_t round) {
  // A clock that leapt may be wrong, so this node only compares states then.
  const bool leapt = round <= leapt_to_;
  const bool voted = std::ranges::any_of(
      votes_, [&](const auto& entry) { return entry.second.round <= now_round_; });
  if (!leapt && round > CheckpointRound(plan(), begin_round_) && !voted) {
    new_ = false;
  }
  if (new_) {
    return;
  }
  const GlobalState& state = history_.StateBefore(round + 1);
  std::string bytes = EncodeState(state, plan());
  boundary_ = {.round = round, .state = Sha256(bytes)};
  own_vote_.reset();
  // A state without participants is what every member begins with.
  if (!state.last_part.empty()) {
    own_vote_ = {.voter = self_,
                 .round = round,
                 .state = boundary_->state,
                 .payload = std::make_shared<const std::string>(bytes)};
    if (!leapt) {
      to_offer_ = {.round = round, .bytes = std::move(bytes)};
    }
  }
}

const ClusterRounds::Vote* ClusterRounds::Winner(uint64_t round) const {
  std::map<Digest, std::pair<size_t, const Vote*>> count;
  for (const auto& [id, vote] : votes_) {
    if (vote.round == round) {
      auto& [votes, example] = count[vote.state];
      ++votes;
      example = &vote;
    }
  }
  if (own_vote_ && own_vote_->round == round) {
    auto& [votes, example] = count[own_vote_->state];
    ++votes;
    example = &*own_vote_;
  }
  const bool has_state = boundary_ && boundary_->round == round;
  const auto winner = std::ranges::max_element(
      count, [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const bool is_here = winner == count.end() || (has_state && winner->first == boundary_->state);
  return is_here ? nullptr : winner->second.second;
}

void ClusterRounds::CountVotes() {
  const uint64_t round = CheckpointRound(plan(), now_round_);
  if (round == 0 || (!new_ && (!boundary_ || boundary_->round != round))) {
    return;  // the node was restarted since the round; it compares states again at the next one
  }
  const Vote* const winner = Winner(round);
  if (winner == nullptr) {
    return;
  }
  auto state = DecodeState(AsBytes(*winner->payload), plan());
  const bool clean = state.ok() && std::ranges::none_of(state->last_part, [&](const auto& part) {
                       return expelled_.contains(part.first);
                     });
  if (clean) {
    new_ = false;
    boundary_ = {.round = round, .state = winner->state};
    Adopt(*std::move(state));
  }
}

void ClusterRounds::Adopt(GlobalState state) {
  auto history = RoundHistory::Create(plan(), std::move(state));
  RUVD_CHECK(history.ok());  // the state was decoded for this plan
  history_ = *std::move(history);
  AddLive();
  settle_from_ = now_round_ + plan().window;
  save_ = true;
  NoteChange(0);
}

void ClusterRounds::AddLive() {
  for (const auto& [id, item] : live_) {
    // What is up to the checkpoint is part of it.
    if (item.round > history_.checkpoint().round) {
      (void)(item.kind == ItemKind::kVerdict ? AddVerdict(item) : AddContribution(item));
    }
  }
  for (const auto& [id, sum] : sums_) {
    if (sum.contribution.round > history_.checkpoint().round) {
      (void)history_.Add(sum);
    }
  }
}

std::optional<std::string> ClusterRounds::TakeSavedState() {
  if (!std::exchange(save_, false) || new_) {
    return std::nullopt;
  }
  saved_round_ = history_.checkpoint().round;
  return EncodeState(history_.checkpoint(), plan());
}

const StateDigest& ClusterRounds::ComparedState() {
  if (!compared_) {
    const GlobalState& state = history_.StateBefore(std::max<uint64_t>(now_round_, 1) - 1);
    compared_ = {.round = state.round, .digest = state.DigestOf(plan())};
  }
  return *compared_;
}

bool ClusterRounds::HasLive(ItemKind kind, uint64_t round) const {
  return std::ranges::any_of(live_, [&](const auto& entry) {
    const Item& item = entry.second;
    return item.kind == kind && item.origin == self_ && item.round == round;
  });
}

bool ClusterRounds::HasOwnVerdict(uint64_t round) const {
  return HasLive(ItemKind::kVerdict, round);
}

const RoundReport* ClusterRounds::NewestReport() {
  history_.StateBefore(now_round_);
  for (const auto& [round, report] : std::views::reverse(history_.reports())) {
    const bool counted = std::ranges::any_of(
        report.parts, [](const RoundReport::Part& part) { return part.weight > 0; });
    if (round < now_round_ && counted) {
      return &report;
    }
  }
  return nullptr;
}

bool ClusterRounds::HasOwn(uint64_t round) const {
  return HasLive(ItemKind::kContribution, round) ||
         std::ranges::any_of(sums_, [&](const auto& entry) {
           return entry.second.contribution.round == round && IsMember(entry.second, self_);
         });
}

uint64_t ClusterRounds::FirstLiveRound() const {
  return std::min(FirstLive(history_.plan(), now_round_), history_.checkpoint().round + 1);
}

size_t ClusterRounds::own_contributions() const {
  const uint64_t settled = history_.checkpoint().round;
  const auto alone = std::ranges::count_if(live_, [&](const auto& entry) {
    const Item& item = entry.second;
    return item.kind == ItemKind::kContribution && item.origin == self_ && item.round > settled;
  });
  const auto in_sums = std::ranges::count_if(sums_, [&](const auto& entry) {
    return entry.second.contribution.round > settled && IsMember(entry.second, self_);
  });
  return static_cast<size_t>(alone + in_sums);
}

}  // namespace ruvd::federation
