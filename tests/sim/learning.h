// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/update_attacks.h"
#include "federation/daf/adapter_update.h"
#include "federation/events/item.h"
#include "federation/learner/round_history.h"

namespace ruvd::test {

// What nodes of a world learn together, small enough for thousands of them: node i wants values w_i
// = w + h_i (all share w, h_i is its own text's part), and in a round it trains half of the way
// from its adapter to w_i, with noise. The adapter of a node is what ApplyRounds makes of every
// round's updates that it holds, from the first round on: nodes that hold the same items have the
// same adapter, bit for bit, in whatever order the items came and however often a node was down.
// The first kHistories nodes learn from a RoundHistory instead, which they keep for the whole run.
// Not thread-safe.
class Learning {
 public:
  static constexpr uint64_t kRounds = 6;  // a node keeps eight updates of each other node
  static constexpr size_t kValues = 64;
  static constexpr size_t kHistories = 16;

  // `rule` is a name for RuleByName.
  Learning(size_t nodes, uint64_t seed, std::string rule);

  // Returns the rules of updates in a world: one core of kValues values.
  static federation::UpdateRules Layout();
  // Returns the update that an honest node trains in a round, 1 to kRounds, from the items it
  // holds.
  federation::AdapterUpdate Train(size_t node, uint64_t round,
                                  std::span<const federation::Item> held);
  // Returns what a Byzantine node sends that knows all honest updates of the round. It is one
  // update for each attack, so that attackers of one kind agree.
  federation::AdapterUpdate Lie(bench::UpdateAttack attack, uint64_t round);

  // Returns the state before a round that ApplyRounds makes of the updates among these items.
  federation::GlobalState StateOf(std::span<const federation::Item> held, uint64_t round) const;
  // Returns the same state from the node's history, after it took over what the node holds. Returns
  // nullopt for a node without a history.
  std::optional<federation::GlobalState> HistoryOf(size_t node, uint64_t round,
                                                   std::span<const federation::Item> held);
  const federation::LearnerPlan& plan() const { return plan_; }
  // Returns the distance of an adapter to the mean of what these nodes want, over the norm of that
  // mean: 1 is an adapter that learned nothing.
  double ErrorOf(std::span<const float> adapter, std::span<const size_t> nodes) const;
  // Whether the rule is made for this many liars beside this many honest nodes, three tenths of
  // which may be down.
  static bool Withstands(size_t liars, size_t honest);

 private:
  // A history and the ids that it holds, with their rounds.
  struct Kept {
    federation::RoundHistory history;
    std::map<Digest, uint64_t> rounds;
  };

  std::vector<float> Wanted(size_t node) const;
  // Returns the adapter that a node trains in a round. Nodes without a history that hold the same
  // items share it.
  const std::vector<float>& AdapterToTrain(size_t node, uint64_t round,
                                           std::span<const federation::Item> held);

  Random random_;
  federation::LearnerPlan plan_;
  std::map<size_t, Kept> histories_;  // by node
  std::vector<float> shared_;
  std::vector<uint64_t> own_;                                   // seeds of h_i
  std::map<uint64_t, std::vector<std::vector<float>>> honest_;  // updates by round
  std::map<std::pair<uint64_t, bench::UpdateAttack>, std::vector<float>> lies_;
  // By round and ids of updates
  std::map<std::pair<uint64_t, std::vector<Digest>>, std::vector<float>> adapters_to_train_;
  std::vector<float> adapter_of_history_;  // the last one that AdapterToTrain returned
};

}  // namespace ruvd::test
