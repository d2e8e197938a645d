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
  const AdapterUpdate* update = nullptr;  // must outlive the call
  // Number of nodes that it is the mean of: 1, or the members of a masked sum, as they signed it.
  // Its weight is multiplied by this number
  size_t members = 1;
};

// What a node did with a peer's update in one bank.
struct BankEffect {
  double coverage = 0;  // share of the bank's range of t
  double weight = 0;    // weight by the strategy, including staleness, times the members
  double norm = 0;      // norm of the aligned values
  double distance = 0;  // distance to the result of the rule
  double cosine = 0;    // cosine with that result
  // Effect of the update alone on this node's held-out text; it has no documents if this was not
  // measured
  BankScore alone;
};

// The result for one peer's update: its contribution and its effect.
struct PeerRecord {
  privacy::NodeId origin{};
  size_t members = 1;  // as in PeerUpdate
  uint64_t round = 0;
  uint64_t staleness = 0;
  uint64_t examples = 0;    // as claimed; not used
  double norm = 0;          // as sent, before alignment
  double reputation = 0.5;  // before this round
  absl::Status refused;     // OK if the update took part
  std::vector<BankEffect> banks;
};

struct DafRoundInput {
  privacy::NodeId self{};
  uint64_t round = 0;  // round of the node's global adapter
  // If true, updates begin from the frozen model, which is round 0 for all nodes, instead of a
  // global adapter: no update is stale, an update that names another round is refused, and
  // `current` is zero
  bool from_frozen = false;
  std::vector<float> boundaries;          // boundaries of the node's banks, ascending within 0 to 1
  TimestepHistogram schedule{};           // what the node itself trains on
  const BankedValues* current = nullptr;  // the global adapter's values, by bank
  std::vector<PeerUpdate> updates;        // includes the node's own update, if it has one
};

struct DafRoundOptions {
  AdapterUpdateRules rules;
  StrategyOptions strategy;
  const AggregationRule* rule = nullptr;  // null: DefaultRule()
  // Peers with a lower reputation are left out until their verdicts have faded. A newcomer has 0.5;
  // one harmful update gives 0.33, a second one within ten rounds less than 0.3
  double least_reputation = 0.3;
  GateOptions gate;
};

struct DafRoundResult {
  // How far the updates would move each bank; zeros if no update counts
  BankedValues delta;
  std::vector<size_t> contributors;  // by bank
  std::vector<PeerRecord> peers;     // by origin
};

// Runs one round of diffusion-aware federation (DAF) up to the outer step. It checks every update
// (model, frame, shape, finiteness, norm, staleness, reputation), aligns its banks, clips those
// that alignment made longer than the norm bound, weighs the update and combines each bank. With
// `measure`, each peer's update is first evaluated alone; after all evaluations, the results go
// into `reputation`. The strategies kQualityWeighted and kHybrid (unless its quality weight is 0)
// need `measure` and count gains for which ShowsGain holds. The result does not depend on the order
// of the updates. INVALID_ARGUMENT for two updates of one origin, more than kMaxContributions,
// boundaries that do not ascend, options out of range, or a missing `measure`; also returns the
// errors of `measure`.
absl::StatusOr<DafRoundResult> AggregateRound(const DafRoundInput& input,
                                              const DafRoundOptions& options,
                                              const ShadowEvaluation& measure,
                                              ReputationTable* reputation);

// The persistent state of a global adapter, as a node saves it.
struct GlobalAdapterState {
  BankedValues values;
  uint64_t round = 0;
  std::vector<OuterOptimizer::State> optimizers;  // by bank
  bool operator==(const GlobalAdapterState&) const = default;
};

// The global adapter of a node: values by bank, moved by rounds through the outer optimiser and
// guarded by the gate. If a bank is rolled back, its optimiser keeps its state. Not thread-safe.
class GlobalAdapter {
 public:
  // Makes an adapter whose values are zero. Returns INVALID_ARGUMENT for optimiser options out of
  // range.
  static absl::StatusOr<GlobalAdapter> Create(size_t banks, size_t values_per_bank,
                                              const OuterOptions& options);

  // Continues from a saved state. INVALID_ARGUMENT also for banks of unequal length, values that
  // are not finite, or states of other optimisers.
  static absl::StatusOr<GlobalAdapter> Restore(GlobalAdapterState state,
                                               const OuterOptions& options);
  GlobalAdapterState State() const;

  const BankedValues& values() const { return values_; }
  uint64_t round() const { return round_; }

  // Applies a round's delta and counts the round up, whatever the verdicts. `noise_variance` is the
  // variance of the privacy noise in each value of a bank's delta, one for each bank; empty means
  // no noise. `contributors` is that of DafRoundResult: a bank without contributors is not moved,
  // not even by momentum, and its optimiser counts no step; empty means that all banks have some.
  // Without `evaluate` everything is committed, for experiments and nodes without held-out text.
  // Returns INVALID_ARGUMENT for other banks or an impossible variance, and the errors of
  // GateBanks; then nothing is changed.
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
