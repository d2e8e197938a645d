// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "bench/update_attacks.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/release/unit_release.h"
#include "tests/sim/rounds_check.h"

namespace ruvd::test {

// What nodes of a world learn together, small enough for thousands of them: node i wants values w_i
// = w + h_i (all share w, h_i is its own text's part), and in a round it trains half of the way
// from the state before the round to w_i, with noise. In a world with masked sums some nodes add
// this up under masks, and the others contribute it with noise of their own or openly. Not
// thread-safe.
class Learning {
 public:
  static constexpr size_t kValues = 64;
  // Only the first nodes of a world run rounds; the others pass the items on.
  static constexpr size_t kNodes = 64;
  // In each round that many of them have something to say, in turns.
  static constexpr size_t kContributors = 16;
  // Each node trains at its own time within a round; liars wait for the others.
  static constexpr Duration kTrainingSpread = std::chrono::seconds(2);
  static constexpr Duration kLiarsWait = std::chrono::seconds(3);
  // A gradient is ready while the members of a masked sum still exchange keys, or soon afterwards.
  static constexpr Duration kGradientSpread = std::chrono::milliseconds(1200);
  // So many nodes consent to masked sums at most; they are in two groups.
  static constexpr size_t kMaskedNodes = 24;

  // `plan` is one of PlanOf.
  Learning(size_t nodes, uint64_t seed, std::shared_ptr<const federation::LearnerPlan> plan);

  // Returns the plan of a world: rounds of five seconds, a window of three rounds, and one bank of
  // kValues values for all t. `rule` is a name for RuleByName. With `masked` contributions are
  // gradients, and a round lasts twelve seconds, because a masked sum takes three exchanges.
  static std::shared_ptr<const federation::LearnerPlan> PlanOf(std::string rule,
                                                               bool masked = false);

  // Contributions are made in the rounds from `first` to `last`; none are made before this call.
  void Open(uint64_t first, uint64_t last);
  uint64_t last_round() const { return last_; }
  // Whether a node has something to say in a round.
  bool Contributes(size_t node, uint64_t round) const;
  // Returns what an honest node trains in a round from the state before it.
  federation::Contribution Train(size_t node, uint64_t round, const federation::GlobalState& base);
  // Whether lessons of a node may be in the masked sums of a round.
  bool IsOpen(uint64_t round) const { return round >= first_ && round <= last_; }
  // Returns what an honest node adds to a masked sum in place of a contribution, without noise.
  privacy::UnitSum TrainSum(size_t node, uint64_t round, const federation::GlobalState& base);
  // Returns what a release with noise costs a lesson at most: a share of a masked sum, or a
  // contribution with whole noise.
  const privacy::dp::RdpCurve& CostOf(bool masked) const { return masked ? share_cost_ : cost_; }
  // Returns what a Byzantine node sends that knows all honest contributions of the round. It is one
  // for each attack, so that attackers of one kind agree.
  federation::Contribution Lie(bench::UpdateAttack attack, uint64_t round,
                               const federation::GlobalState& base);

  RoundsModel& model() { return model_; }
  // Returns the distance of an adapter to the mean of what these nodes want, over the norm of that
  // mean: 1 is an adapter that learned nothing.
  double ErrorOf(std::span<const float> adapter, std::span<const size_t> nodes) const;
  // Whether the rule is made for this many liars beside this many honest nodes, three tenths of
  // which may be down.
  static bool Withstands(size_t liars, size_t honest);

 private:
  std::vector<float> Wanted(size_t node) const;
  std::vector<float> Update(size_t node, uint64_t round, const federation::GlobalState& base);

  Random random_;
  std::shared_ptr<const federation::LearnerPlan> plan_;
  RoundsModel model_;
  uint64_t first_ = 1;
  uint64_t last_ = 0;
  privacy::dp::RdpCurve share_cost_;
  privacy::dp::RdpCurve cost_;
  std::vector<float> shared_;
  std::vector<uint64_t> own_;                                   // seeds of h_i
  std::map<uint64_t, std::vector<std::vector<float>>> honest_;  // of the last rounds
  std::map<std::pair<uint64_t, bench::UpdateAttack>, std::vector<float>> lies_;
};

}  // namespace ruvd::test
