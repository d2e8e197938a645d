// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/aggregation_rule.h"
#include "federation/daf/bank_gate.h"
#include "federation/daf/outer_optimizer.h"
#include "federation/daf/reputation.h"
#include "federation/daf/strategy.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

struct PeerUpdate {
  privacy::NodeId origin{};
  const AdapterUpdate* update = nullptr;  // outlives the call
  // Nodes that it is the mean of: 1, or those of a masked sum, as they signed. It weighs as much.
  size_t members = 1;
};

// What a node did with a peer's update in one bank.
struct BankEffect {
  double coverage = 0;  // of the bank's range of t
  double weight = 0;    // of the strategy, staleness included, times the members
  double norm = 0;      // of the aligned values
  double distance = 0;  // to what the rule made of all of them
  double cosine = 0;    // with it
  // What the update alone did on this node's held-out text; no documents where it was not measured.
  BankScore alone;
};

// What became of one peer's update: the contribution and its effect.
struct PeerRecord {
  privacy::NodeId origin{};
  size_t members = 1;  // as PeerUpdate's
  uint64_t round = 0;
  uint64_t staleness = 0;
  uint64_t examples = 0;    // as claimed; used for nothing
  double norm = 0;          // as sent, before alignment
  double reputation = 0.5;  // before this round
  absl::Status refused;     // OK where it took part
  std::vector<BankEffect> banks;
};

struct DafRoundInput {
  privacy::NodeId self{};
  uint64_t round = 0;  // of the node's global adapter
  // Updates begin from no global adapter but from the frozen model, which is round 0 for everybody:
  // none is stale, one that says another round is refused, and `current` is zeros.
  bool from_frozen = false;
  std::vector<float> boundaries;          // of its banks, ascending within 0 to 1
  TimestepHistogram schedule{};           // what the node itself trains on
  const BankedValues* current = nullptr;  // the global adapter's values, by bank
  std::vector<PeerUpdate> updates;        // the node's own is one of them, where it has one
};

struct DafRoundOptions {
  AdapterUpdateRules rules;
  StrategyOptions strategy;
  const AggregationRule* rule = nullptr;  // null: DefaultRule()
  // Peers below are left out until their verdicts have faded. A newcomer has 0.5, one harmful
  // update makes 0.33, a second one at most ten rounds later less than 0.3.
  double least_reputation = 0.3;
  GateOptions gate;
};

struct DafRoundResult {
  // What the updates would move each bank by; zeros where nobody counts.
  BankedValues delta;
  std::vector<size_t> contributors;  // by bank
  std::vector<PeerRecord> peers;     // by origin
};

// One DAF round up to the outer step: checks every update (model, frame, shape, finiteness, norm,
// staleness, reputation), aligns its banks, clips what that made longer than the norm bound, weighs
// it and combines each bank. With `measure` each peer's update is evaluated alone first, and once
// all were what that shows goes into `reputation`; the strategies kQualityWeighted and kHybrid
// (unless its quality weight is 0) need it and count gains that ShowsGain. The result does not
// depend on the order of the updates. INVALID_ARGUMENT for two updates of one origin, more than
// kMaxContributions, boundaries that do not ascend, options out of range or a missing `measure`;
// errors of `measure`.
absl::StatusOr<DafRoundResult> AggregateRound(const DafRoundInput& input,
                                              const DafRoundOptions& options,
                                              const ShadowEvaluation& measure,
                                              ReputationTable* reputation);

// All of a global adapter that lasts, as a node saves it.
struct GlobalAdapterState {
  BankedValues values;
  uint64_t round = 0;
  std::vector<OuterOptimizer::State> optimizers;  // by bank
  bool operator==(const GlobalAdapterState&) const = default;
};

// The global adapter of a node: values by bank, moved by rounds through the outer optimiser and
// behind the gate. A bank that is rolled back leaves its optimiser as it was. Not thread-safe.
class GlobalAdapter {
 public:
  // Zeros. INVALID_ARGUMENT for optimiser options out of range.
  static absl::StatusOr<GlobalAdapter> Create(size_t banks, size_t values_per_bank,
                                              const OuterOptions& options);

  // Goes on where a saved one was. INVALID_ARGUMENT also for banks of unequal length, values that
  // are not finite, or states of other optimisers.
  static absl::StatusOr<GlobalAdapter> Restore(GlobalAdapterState state,
                                               const OuterOptions& options);
  GlobalAdapterState State() const;

  const BankedValues& values() const { return values_; }
  uint64_t round() const { return round_; }

  // Applies a round's delta. `noise_variance`: of the privacy noise in each value of a bank's
  // delta, one for each bank; empty: none. `contributors`: DafRoundResult's; a bank without any is
  // not moved, not even by momentum, and its optimiser counts no step; empty: all have some.
  // Without `evaluate` everything is committed: for experiments and nodes without held-out text.
  // The round counts up, whatever the verdicts. INVALID_ARGUMENT for other banks or a variance that
  // is none; errors of GateBanks; then nothing has changed.
  absl::StatusOr<GateOutcome> Apply(const BankedValues& delta,
                                    std::span<const double> noise_variance,
                                    const ShadowEvaluation& evaluate, const GateOptions& gate,
                                    std::span<const size_t> contributors = {});

 private:
  GlobalAdapter() = default;
  BankedValues values_;
  std::vector<OuterOptimizer> optimizers_;
  uint64_t round_ = 0;
};

}  // namespace ruvd::federation
