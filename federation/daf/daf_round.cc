// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/daf_round.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/bank_alignment.h"
#include "federation/daf/distances.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}", what);
}

// Below this norm, the squared differences of updates are finite in float.
constexpr double kMaxNorm = 1e9;

bool Ascend(std::span<const float> boundaries) {
  float last = 0;
  for (const float boundary : boundaries) {
    if (!(boundary > last) || !(boundary < 1)) {
      return false;
    }
    last = boundary;
  }
  return true;
}

absl::Status CheckOptions(const DafRoundOptions& options) {
  RETURN_IF_ERROR(CheckStrategy(options.strategy));
  if (!(options.least_reputation >= 0) || !(options.least_reputation <= 1)) {
    return Invalid("least_reputation must be between 0 and 1");
  }
  if (!(options.rules.max_norm > 0) || !(options.rules.max_norm <= kMaxNorm)) {
    return Invalid("the norm bound of updates must be above 0 and at most 1e9");
  }
  if (!(options.gate.standard_errors >= 0) || !std::isfinite(options.gate.standard_errors)) {
    return Invalid("the gate's standard_errors must be at least 0");
  }
  return absl::OkStatus();
}

// An update that takes part in the round.
struct Admitted {
  size_t record = 0;  // its index among the records
  const AdapterUpdate* update = nullptr;
  std::vector<AlignedBank> banks;
};

bool NeedsQuality(const StrategyOptions& strategy) {
  return strategy.strategy == Strategy::kQualityWeighted ||
         (strategy.strategy == Strategy::kHybrid && strategy.quality_weight > 0);
}

absl::Status CheckInput(const DafRoundInput& input, const DafRoundOptions& options,
                        const ShadowEvaluation& measure) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (input.boundaries.size() >= limits::kMaxUpdateBanks || !Ascend(input.boundaries)) {
    return Invalid(
        "the node's boundaries of t must ascend within 0 to 1 and not exceed the limit of banks");
  }
  if (input.current == nullptr || input.current->size() != input.boundaries.size() + 1) {
    return Invalid("the global adapter must have a bank for each range of t");
  }
  size_t expected = 0;
  for (const ModuleShape& module : options.rules.modules) {
    expected += module.values();
  }
  if (!std::ranges::all_of(*input.current,
                           [&](const auto& bank) { return bank.size() == expected; })) {
    return Invalid("the global adapter's banks are not as long as the modules of the rules");
  }
  if (input.updates.size() > limits::kMaxContributions) {
    return Invalid(
        fmt::format("{} updates are more than the {} that are combined at once; give "
                    "the newest",
                    input.updates.size(), limits::kMaxContributions));
  }
  if (NeedsQuality(options.strategy) && !measure) {
    return Invalid("weights by quality need an evaluation on this node's held-out text");
  }
  return absl::OkStatus();
}

absl::Status Admit(const PeerRecord& record, const AdapterUpdate& update,
                   const DafRoundInput& input, const DafRoundOptions& options) {
  RETURN_IF_ERROR(CheckAdapterUpdate(update, options.rules));
  if (input.from_frozen && update.round != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kUpdateInvalid,
                 "update began from the global adapter of round {}, which this node does not have; "
                 "updates of this cluster begin from the frozen model, round 0",
                 update.round);
  }
  if (update.round > input.round) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kUpdateInvalid,
                 "update began from round {}, this node is at {}; it may count once the node has "
                 "caught up",
                 update.round, input.round);
  }
  if (record.staleness > limits::kMaxStaleness) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kUpdateInvalid,
                 "update is {} rounds old, more than {}; its sender must train from a newer global "
                 "adapter",
                 record.staleness, limits::kMaxStaleness);
  }
  if (record.origin != input.self && record.reputation < options.least_reputation) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kUpdateInvalid,
                 "its sender's updates made this node's held-out text worse: reputation {:.2f} "
                 "below {:.2f}",
                 record.reputation, options.least_reputation);
  }
  return absl::OkStatus();
}

PeerRecord RecordOf(const PeerUpdate& peer, const DafRoundInput& input,
                    const ReputationTable* reputation) {
  const AdapterUpdate& update = *peer.update;
  return {.origin = peer.origin,
          .members = peer.members,
          .round = update.round,
          .staleness =
              input.round > update.round && !input.from_frozen ? input.round - update.round : 0,
          .examples = update.examples,
          .norm = NormOf(update),
          .reputation = reputation == nullptr ? 0.5 : reputation->Of(peer.origin, input.round),
          .refused = absl::OkStatus(),
          .banks = std::vector<BankEffect>(input.boundaries.size() + 1)};
}

absl::StatusOr<std::vector<PeerUpdate>> SortedByOrigin(const std::vector<PeerUpdate>& updates) {
  std::vector<PeerUpdate> sorted = updates;
  std::ranges::sort(sorted, {}, &PeerUpdate::origin);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &PeerUpdate::origin);
  if (twice != sorted.end()) {
    return Invalid(fmt::format("node {} contributes twice; give its newest update only",
                               ToHex(twice->origin).substr(0, 16)));
  }
  return sorted;
}

// Returns the current adapter plus one aligned update.
BankedValues WithUpdate(const BankedValues& current, const Admitted& admitted) {
  BankedValues candidate = current;
  for (size_t bank = 0; bank < candidate.size(); ++bank) {
    const std::vector<float>& values = admitted.banks[bank].values;
    for (size_t i = 0; i < values.size(); ++i) {
      candidate[bank][i] += values[i];
    }
  }
  return candidate;
}

// Aligns an update and clips the result. An update with few wide banks becomes one with many narrow
// banks and a larger norm. Its sender cannot know that, so the update is scaled instead of refused.
std::vector<AlignedBank> AlignedWithin(double max_norm, const AdapterUpdate& update,
                                       std::span<const float> boundaries) {
  std::vector<AlignedBank> banks = AlignBanks(update, boundaries);
  double square = 0;
  for (const AlignedBank& bank : banks) {
    square += SquaredNorm(bank.values);
  }
  if (const double norm = std::sqrt(square); norm > max_norm) {
    const auto scale = static_cast<float>(max_norm / norm);
    for (AlignedBank& bank : banks) {
      std::ranges::for_each(bank.values, [scale](float& value) { value *= scale; });
    }
  }
  return banks;
}

absl::Status MeasureAlone(const DafRoundInput& input, const ShadowEvaluation& measure,
                          const std::vector<Admitted>& admitted, std::vector<PeerRecord>* records) {
  for (const Admitted& one : admitted) {
    ASSIGN_OR_RETURN(const ShadowScore score, measure(WithUpdate(*input.current, one)));
    PeerRecord& record = (*records)[one.record];
    if (score.banks.size() != record.banks.size()) {
      return Invalid("the shadow evaluation scored another number of banks");
    }
    for (size_t bank = 0; bank < score.banks.size(); ++bank) {
      record.banks[bank].alone = score.banks[bank];
    }
  }
  return absl::OkStatus();
}

void RecordVerdicts(const DafRoundInput& input, const DafRoundOptions& options,
                    const std::vector<Admitted>& admitted, const std::vector<PeerRecord>& records,
                    ReputationTable* reputation) {
  for (const Admitted& one : admitted) {
    const PeerRecord& record = records[one.record];
    if (record.origin == input.self) {
      continue;
    }
    std::vector<BankScore> alone;
    for (const BankEffect& effect : record.banks) {
      alone.push_back(effect.alone);
    }
    const std::string bytes = EncodeAdapterUpdate(*one.update);
    reputation->Record(record.origin, Sha256(AsBytes(bytes)), input.round, alone, options.gate);
  }
}

// Combines one bank over the updates that count in it. Returns the number of these updates.
class BankCombiner {
 public:
  BankCombiner(const DafRoundInput& input, const DafRoundOptions& options,
               const std::vector<Admitted>& admitted, std::vector<PeerRecord>* records)
      : input_(input), options_(options), admitted_(admitted), records_(records) {}

  size_t Combine(size_t bank, std::span<float> out) {
    Weigh(bank);
    std::vector<std::span<const float>> updates;
    std::vector<double> weights;
    std::vector<TimestepHistogram> schedules;
    std::optional<size_t> own;
    for (const Admitted& one : admitted_) {
      const double weight = EffectOf(one, bank).weight;
      if (weight <= 0) {
        continue;
      }
      if ((*records_)[one.record].origin == input_.self) {
        own = updates.size();
      }
      updates.emplace_back(one.banks[bank].values);
      weights.push_back(weight);
      schedules.push_back(one.update->schedule);
    }
    if (updates.empty()) {
      return 0;
    }
    const AggregationRule& rule = options_.rule == nullptr ? DefaultRule() : *options_.rule;
    CombineByStrategy(options_.strategy, rule, {.updates = updates, .weights = weights, .own = own},
                      schedules, out);
    Describe(bank, out);
    return updates.size();
  }

 private:
  BankEffect& EffectOf(const Admitted& one, size_t bank) {
    return (*records_)[one.record].banks[bank];
  }

  void Weigh(size_t bank) {
    std::vector<UpdateView> views;
    for (const Admitted& one : admitted_) {
      BankEffect& effect = EffectOf(one, bank);
      effect.coverage = one.banks[bank].coverage;
      views.push_back(
          {.coverage = effect.coverage,
           .staleness = (*records_)[one.record].staleness,
           .improvement = ShowsGain(effect.alone, options_.gate) ? effect.alone.gain : 0.0,
           .similarity = ScheduleSimilarity(input_.schedule, one.update->schedule)});
    }
    const std::vector<double> weights = WeightsOf(options_.strategy, views);
    for (size_t i = 0; i < admitted_.size(); ++i) {
      const auto members = static_cast<double>((*records_)[admitted_[i].record].members);
      EffectOf(admitted_[i], bank).weight = weights[i] * members;
    }
  }

  void Describe(size_t bank, std::span<const float> result) {
    const double length = std::sqrt(SquaredNorm(result));
    for (const Admitted& one : admitted_) {
      const std::vector<float>& values = one.banks[bank].values;
      if (values.empty()) {
        continue;
      }
      BankEffect& effect = EffectOf(one, bank);
      effect.norm = std::sqrt(SquaredNorm(values));
      effect.distance = std::sqrt(SquaredDistance(values, result));
      const double product = effect.norm * length;
      effect.cosine = product > 0 ? Dot(values, result) / product : 0;
    }
  }

  const DafRoundInput& input_;
  const DafRoundOptions& options_;
  const std::vector<Admitted>& admitted_;
  std::vector<PeerRecord>* records_;
};

}  // namespace

absl::StatusOr<DafRoundResult> AggregateRound(const DafRoundInput& input,
                                              const DafRoundOptions& options,
                                              const ShadowEvaluation& measure,
                                              ReputationTable* reputation) {
  RETURN_IF_ERROR(CheckInput(input, options, measure));
  ASSIGN_OR_RETURN(const std::vector<PeerUpdate> sorted, SortedByOrigin(input.updates));
  DafRoundResult result;
  std::vector<Admitted> admitted;
  for (const PeerUpdate& peer : sorted) {
    PeerRecord& record = result.peers.emplace_back(RecordOf(peer, input, reputation));
    record.refused = Admit(record, *peer.update, input, options);
    if (record.refused.ok()) {
      admitted.push_back(
          {.record = result.peers.size() - 1,
           .update = peer.update,
           .banks = AlignedWithin(options.rules.max_norm, *peer.update, input.boundaries)});
    }
  }
  if (measure) {
    RETURN_IF_ERROR(MeasureAlone(input, measure, admitted, &result.peers));
    if (reputation != nullptr) {
      RecordVerdicts(input, options, admitted, result.peers, reputation);
    }
  }
  BankCombiner combiner(input, options, admitted, &result.peers);
  for (size_t bank = 0; bank < input.current->size(); ++bank) {
    std::vector<float>& delta = result.delta.emplace_back((*input.current)[bank].size());
    result.contributors.push_back(combiner.Combine(bank, delta));
  }
  return result;
}

absl::StatusOr<GlobalAdapter> GlobalAdapter::Create(size_t banks, size_t values_per_bank,
                                                    const OuterOptions& options) {
  GlobalAdapter adapter;
  for (size_t bank = 0; bank < banks; ++bank) {
    ASSIGN_OR_RETURN(OuterOptimizer optimizer, OuterOptimizer::Create(values_per_bank, options));
    adapter.optimizers_.push_back(std::move(optimizer));
    adapter.values_.emplace_back(values_per_bank);
  }
  return adapter;
}

absl::StatusOr<GlobalAdapter> GlobalAdapter::Restore(GlobalAdapterState state,
                                                     const OuterOptions& options) {
  if (state.optimizers.size() != state.values.size()) {
    return Invalid("the saved global adapter has other banks than its optimisers");
  }
  GlobalAdapter adapter;
  for (size_t bank = 0; bank < state.values.size(); ++bank) {
    const std::vector<float>& values = state.values[bank];
    if (values.size() != state.values[0].size() ||
        !std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
      return Invalid("the saved global adapter has banks of unequal length or values not finite");
    }
    ASSIGN_OR_RETURN(
        OuterOptimizer optimizer,
        OuterOptimizer::Restore(values.size(), options, std::move(state.optimizers[bank])));
    adapter.optimizers_.push_back(std::move(optimizer));
  }
  adapter.values_ = std::move(state.values);
  adapter.round_ = state.round;
  return adapter;
}

GlobalAdapterState GlobalAdapter::State() const {
  GlobalAdapterState state{.values = values_, .round = round_, .optimizers = {}};
  for (const OuterOptimizer& optimizer : optimizers_) {
    state.optimizers.push_back(optimizer.state());
  }
  return state;
}

absl::StatusOr<GateOutcome> GlobalAdapter::Apply(const BankedValues& delta,
                                                 std::span<const double> noise_variance,
                                                 const ShadowEvaluation& evaluate,
                                                 const GateOptions& gate,
                                                 std::span<const size_t> contributors) {
  const bool fits = std::ranges::equal(
      delta, values_, [](const auto& a, const auto& b) { return a.size() == b.size(); });
  if (!fits || (!noise_variance.empty() && noise_variance.size() != delta.size()) ||
      (!contributors.empty() && contributors.size() != delta.size())) {
    return Invalid("the delta has other banks than the global adapter; align it first");
  }
  if (!std::ranges::all_of(noise_variance, [](double v) { return v >= 0 && std::isfinite(v); })) {
    return Invalid("the variance of privacy noise must be a number of at least 0");
  }
  const auto moves = [&](size_t bank) { return contributors.empty() || contributors[bank] > 0; };
  BankedValues candidate = values_;
  std::vector<OuterOptimizer::Proposal> proposals;
  for (size_t bank = 0; bank < delta.size(); ++bank) {
    proposals.push_back(optimizers_[bank].Propose(
        delta[bank], noise_variance.empty() ? 0.0 : noise_variance[bank]));
    for (size_t i = 0; moves(bank) && i < delta[bank].size(); ++i) {
      candidate[bank][i] += proposals[bank].move[i];
    }
  }
  GateOutcome outcome;
  if (evaluate) {
    ASSIGN_OR_RETURN(outcome, GateBanks(values_, candidate, evaluate, gate));
  } else {
    outcome.values = candidate;
    outcome.verdicts.assign(candidate.size(), BankVerdict::kCommitted);
    outcome.score.banks.resize(candidate.size());
  }
  for (size_t bank = 0; bank < delta.size(); ++bank) {
    if (outcome.verdicts[bank] == BankVerdict::kCommitted && moves(bank)) {
      optimizers_[bank].Commit(std::move(proposals[bank]));
    }
  }
  values_ = outcome.values;
  ++round_;
  return outcome;
}

}  // namespace ruvd::federation
