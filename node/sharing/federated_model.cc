// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/federated_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "federation/daf/bank_alignment.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/sharing/saved_reputations.h"
#include "node/sharing/shared_items.h"

namespace ruvd::sharing {
namespace {

// A move within the rounding error of the sums counts as no move; otherwise it would be evaluated
// again and again.
constexpr double kRounding = 1e-6;

// Returns the move from one bank to another; a value within the rounding error is 0.
std::vector<float> MoveFrom(const std::vector<float>& from, const std::vector<float>& to) {
  std::vector<float> move(to.size());
  double squares = 0;
  double moved = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    move[i] = to[i] - from[i];
    squares += double{to[i]} * to[i];
    moved += double{move[i]} * move[i];
  }
  if (std::sqrt(moved) <= kRounding * std::sqrt(squares)) {
    std::ranges::fill(move, 0.0F);
  }
  return move;
}

void LogBanks(const FederatedOutcome& round) {
  for (size_t bank = 0; bank < round.banks.size(); ++bank) {
    const BankOutcome& outcome = round.banks[bank];
    if (outcome.verdict == federation::BankVerdict::kUnchanged) {
      continue;
    }
    Log(outcome.verdict == federation::BankVerdict::kCommitted ? LogLevel::kInfo
                                                               : LogLevel::kWarning,
        "round {}: bank {} of the federated adapter, made from {} update(s), is {}: gain on "
        "lessons {:.4f} nats per token (error {:.4f}, {} lessons), general text loses {:.2f} %",
        round.round, bank, outcome.contributors, federation::BankVerdictName(outcome.verdict),
        outcome.score.gain, outcome.score.standard_error, outcome.score.documents,
        100 * outcome.score.general_loss);
  }
}

// Converts a saved adapter with other banks or another optimiser to those of the layout. Its
// optimisers begin anew.
federation::GlobalAdapterState AlignedTo(const UpdateLayout& layout,
                                         const SavedGlobalAdapter& saved,
                                         const federation::GlobalAdapterState& fresh) {
  federation::AdapterUpdate update{.boundaries = saved.boundaries, .modules = {}, .banks = {}};
  for (const std::vector<float>& values : saved.state.values) {
    update.banks.push_back({.bank = static_cast<uint32_t>(update.banks.size()), .values = values});
  }
  federation::GlobalAdapterState state{
      .values = {}, .round = saved.state.round, .optimizers = fresh.optimizers};
  for (federation::AlignedBank& bank : federation::AlignBanks(update, layout.boundaries)) {
    state.values.push_back(std::move(bank.values));
  }
  return state;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FederatedModel>> FederatedModel::Open(
    FederatedModelOptions options) {
  ASSIGN_OR_RETURN(federation::GlobalAdapter global,
                   federation::GlobalAdapter::Create(
                       options.layout.banks(), options.layout.values_per_bank(), options.outer));
  RETURN_IF_ERROR(federation::CheckStrategy(options.strategy));
  std::unique_ptr<FederatedModel> model(new FederatedModel(std::move(options), std::move(global)));
  const FederatedModelOptions& own = model->options_;
  if (own.state != nullptr) {
    auto saved = ReadGlobalAdapter(*own.state);
    absl::Status status = saved.status();
    if (saved.ok() && saved->has_value()) {
      status = model->Restore(**std::move(saved));
    }
    if (!status.ok()) {
      LogWarning("the saved global adapter is not used, and a new one is begun: {} [{}]",
                 MessageOf(status), ReasonOf(status));
    }
  }
  model->RestoreReputations();
  return model;
}

void FederatedModel::RestoreReputations() {
  if (options_.state == nullptr) {
    return;
  }
  const auto known = LoadReputations(*options_.state);
  absl::StatusOr<federation::ReputationTable> table =
      known.ok() ? federation::ReputationTable::Restore(*known, global_.round()) : known.status();
  if (table.ok()) {
    reputation_ = *std::move(table);
  } else {
    LogWarning("peers begin without a reputation: {} [{}]", MessageOf(table.status()),
               ReasonOf(table.status()));
  }
}

void FederatedModel::SaveReputations() const {
  if (options_.state == nullptr) {
    return;
  }
  const absl::Status kept = StoreReputations(*options_.state, reputation_.All(global_.round()));
  if (!kept.ok()) {
    LogWarning("the reputations of peers were not saved and would be lost at a restart: {} [{}]",
               MessageOf(kept), ReasonOf(kept));
  }
}

absl::Status FederatedModel::Restore(SavedGlobalAdapter saved) {
  const UpdateLayout& layout = options_.layout;
  if (saved.model_hash != layout.model_hash || saved.frame_id != layout.frame->id ||
      saved.state.values.front().size() != layout.values_per_bank()) {
    LogInfo("the saved global adapter belongs to another model or frame, so a new one is begun");
    return absl::OkStatus();
  }
  const bool same = saved.boundaries == layout.boundaries &&
                    federation::GlobalAdapter::Restore(saved.state, options_.outer).ok();
  federation::GlobalAdapterState state =
      same ? std::move(saved.state) : AlignedTo(layout, saved, global_.State());
  ASSIGN_OR_RETURN(global_, federation::GlobalAdapter::Restore(std::move(state), options_.outer));
  {
    const MutexLock lock(mutex_);
    contributors_ = std::move(saved.contributors);
  }
  return saved.served > 0 ? Serve(saved.served) : absl::OkStatus();
}

absl::Status FederatedModel::Forget() {
  ASSIGN_OR_RETURN(const federation::GlobalAdapter fresh,
                   federation::GlobalAdapter::Create(
                       options_.layout.banks(), options_.layout.values_per_bank(), options_.outer));
  federation::GlobalAdapterState state = fresh.State();
  state.round = global_.round();  // verdicts on peers fade by round
  ASSIGN_OR_RETURN(global_, federation::GlobalAdapter::Restore(std::move(state), options_.outer));
  {
    const MutexLock lock(mutex_);
    adapter_ = nullptr;
    contributors_.clear();
  }
  {
    const MutexLock lock(save_mutex_);
    saved_is_invalid_ = false;
  }
  Save();
  return absl::OkStatus();
}

bool FederatedModel::MayContain(const privacy::NodeId& origin) const {
  const MutexLock lock(mutex_);
  return contributors_.contains(origin) ||
         contributors_.size() >= limits::kMaxRememberedContributors;
}

std::set<privacy::NodeId> FederatedModel::Contributors() const {
  const MutexLock lock(mutex_);
  return contributors_;
}

void FederatedModel::RecordContributors(const std::vector<federation::PeerRecord>& peers,
                                        const MaskedMeanList& sums) {
  std::set<privacy::NodeId> had_part;
  for (const federation::PeerRecord& peer : peers) {
    if (!peer.refused.ok() ||
        std::ranges::none_of(peer.banks,
                             [](const federation::BankEffect& bank) { return bank.weight > 0; })) {
      continue;
    }
    const auto sum =
        std::ranges::find_if(sums, [&peer](const auto& mean) { return mean->name == peer.origin; });
    if (sum == sums.end()) {
      had_part.insert(peer.origin);
    } else {
      had_part.insert((*sum)->members.begin(), (*sum)->members.end());
    }
  }
  const MutexLock lock(mutex_);
  for (const privacy::NodeId& id : had_part) {
    if (contributors_.size() < limits::kMaxRememberedContributors) {
      contributors_.insert(id);
    }
  }
}

absl::Status FederatedModel::SetTexts(const learning::LearningServices& services) {
  ASSIGN_OR_RETURN(std::vector<inference::ScoredDocument> evaluation_lessons,
                   ChooseEvaluationLessons(services, options_.min_rating));
  evaluation_.SetTexts(std::move(evaluation_lessons), DocumentsOf(options_.general));
  return absl::OkStatus();
}

absl::StatusOr<CombinedUpdate> FederatedModel::Combine(const learning::LearningServices& services,
                                                       std::vector<federation::Item> newest,
                                                       MaskedMeanList sums, bool* unfinished) {
  CombineOptions round{.layout = options_.layout,
                       .self = options_.self,
                       .strategy = options_.strategy,
                       .round = global_.round(),
                       .measure = nullptr,
                       .gate = options_.gate,
                       .reputation = &reputation_,
                       .sums = std::move(sums)};
  const federation::BankedValues frozen(options_.layout.banks(),
                                        std::vector<float>(options_.layout.values_per_bank()));
  size_t measured = 0;
  if (evaluation_.lessons() >= options_.gate.least_documents) {
    round.measure =
        [&](const federation::BankedValues& candidate) -> absl::StatusOr<federation::ShadowScore> {
      if (!evaluation_.HasScored(candidate) && ++measured > limits::kMaxMeasuredUpdates) {
        *unfinished = true;
        return federation::ShadowScore{.banks =
                                           std::vector<federation::BankScore>(candidate.size())};
      }
      return evaluation_.CompareOnLessons(services, frozen, candidate);
    };
  }
  return CombineNewest(std::move(newest), round);
}

// All updates begin from the frozen model, so they say what a bank should be. The move is the
// difference from what the bank is.
federation::BankedValues FederatedModel::MoveTowards(const CombinedUpdate& round) const {
  federation::BankedValues move;
  for (size_t bank = 0; bank < round.target.size(); ++bank) {
    const std::vector<float>& now = global_.values()[bank];
    move.push_back(round.contributors[bank] == 0 ? std::vector<float>(now.size())
                                                 : MoveFrom(now, round.target[bank]));
  }
  return move;
}

absl::StatusOr<federation::GateOutcome> FederatedModel::Step(
    const learning::LearningServices& services, const CombinedUpdate& round) {
  const auto evaluate = [&](const federation::BankedValues& candidate) {
    return evaluation_.Compare(services, global_.values(), candidate);
  };
  return global_.Apply(MoveTowards(round), {}, evaluate, options_.gate, round.contributors);
}

absl::StatusOr<FederatedOutcome> FederatedModel::RunFederatedRound(
    const learning::LearningServices& services, std::vector<federation::Item> newest,
    MaskedMeanList sums) {
  RETURN_IF_ERROR(SetTexts(services));
  FederatedOutcome outcome{.evaluation_lessons = evaluation_.lessons()};
  absl::StatusOr<CombinedUpdate> round =
      Combine(services, std::move(newest), sums, &outcome.unfinished);
  absl::StatusOr<federation::GateOutcome> gate =
      round.ok() ? Step(services, *round) : round.status();
  evaluation_.DropTexts();
  if (outcome.evaluation_lessons >= options_.gate.least_documents) {
    SaveReputations();  // even if the round changes nothing
  }
  RETURN_IF_ERROR(gate.status());
  outcome.round = global_.round();
  outcome.peers = std::move(round->peers);
  outcome.general_loss = gate->score.general_loss;
  for (size_t bank = 0; bank < gate->verdicts.size(); ++bank) {
    outcome.changed |= gate->verdicts[bank] == federation::BankVerdict::kCommitted;
    outcome.banks.push_back({.verdict = gate->verdicts[bank],
                             .contributors = round->contributors[bank],
                             .score = gate->score.banks[bank]});
  }
  if (outcome.changed) {
    RecordContributors(outcome.peers, sums);
    RETURN_IF_ERROR(Serve(served_ + 1));
    Save();
    outcome.unfinished |= options_.outer.step < 1;
  }
  outcome.adapter = adapter();
  return outcome;
}

absl::StatusOr<FederatedOutcome> FederatedModel::RunThrottledRound(
    learning::LearningThrottle* throttle, learning::LearningServices services,
    std::vector<federation::Item> newest, MaskedMeanList sums) {
  std::optional<learning::LearningThrottle::ScopedLearning> working;
  if (throttle != nullptr) {
    services.between_slices = [throttle, cancelled = services.cancelled](uint64_t bytes) {
      return throttle->Wait(storage::LearningLoop::kBackground, bytes, cancelled);
    };
    working.emplace(*throttle);
  }
  auto outcome = RunFederatedRound(services, std::move(newest), std::move(sums));
  if (throttle != nullptr) {
    throttle->RoundEnded(storage::LearningLoop::kBackground);
  }
  if (outcome.ok()) {
    LogBanks(*outcome);
  }
  return outcome;
}

absl::Status FederatedModel::Serve(uint32_t version) {
  ASSIGN_OR_RETURN(auto adapter, FederatedAdapter(global_.values(), options_.layout, version));
  served_ = version;
  const MutexLock lock(mutex_);
  adapter_ = std::move(adapter);
  return absl::OkStatus();
}

void FederatedModel::InvalidateSaved() {
  const MutexLock lock(save_mutex_);
  saved_is_invalid_ = true;
  if (options_.state == nullptr) {
    return;
  }
  const absl::Status removed = options_.state->Delete(storage::state::GlobalAdapter());
  if (!removed.ok()) {
    LogError(
        "the saved global adapter holds a withdrawn update and is not deleted before the next one "
        "is saved: {} [{}]",
        MessageOf(removed), ReasonOf(removed));
  }
}

void FederatedModel::Save() const {
  const MutexLock lock(save_mutex_);
  if (options_.state == nullptr || saved_is_invalid_) {
    return;
  }
  const absl::Status saved =
      WriteGlobalAdapter(*options_.state, {.model_hash = options_.layout.model_hash,
                                           .frame_id = options_.layout.frame->id,
                                           .boundaries = options_.layout.boundaries,
                                           .served = adapter() == nullptr ? 0 : served_,
                                           .contributors = Contributors(),
                                           .state = global_.State()});
  if (!saved.ok()) {
    LogWarning(
        "the global adapter is served but was not saved, and would be lost at a restart: {} [{}]",
        MessageOf(saved), ReasonOf(saved));
  }
}

}  // namespace ruvd::sharing
