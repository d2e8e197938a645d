// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "bench/update_attacks.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/aggregation_rule.h"
#include "federation/events/item.h"

namespace ruvd::test {

// What nodes of a world learn together, small enough for thousands of them: node i wants values w_i
// = w + h_i (all share w, h_i is its own text's part), and in a round it trains half of the way
// from its adapter to w_i, with noise. The adapter of a node is what AggregateRound and
// GlobalAdapter make of every round's updates that it holds, from the first round on: nodes that
// hold the same items have the same adapter, bit for bit, in whatever order the items came and
// however often a node was down. Not thread-safe.
class Learning {
 public:
  static constexpr uint64_t kRounds = 6;  // a node keeps eight updates of each other node
  static constexpr size_t kValues = 64;

  // `rule` null means DefaultRule.
  Learning(size_t nodes, uint64_t seed, const federation::AggregationRule* rule);

  // Returns the rules of updates in a world: one core of kValues values.
  static federation::UpdateRules Layout();
  // Returns the update that an honest node trains in a round, 1 to kRounds, from the items it
  // holds.
  federation::AdapterUpdate Train(size_t node, uint64_t round,
                                  std::span<const federation::Item> held);
  // Returns what a Byzantine node sends that knows all honest updates of the round. It is one
  // update for each attack, so that attackers of one kind agree.
  federation::AdapterUpdate Lie(bench::UpdateAttack attack, uint64_t round);

  std::vector<float> AdapterOf(std::span<const federation::Item> held) const;
  // Returns the distance of an adapter to the mean of what these nodes want, over the norm of that
  // mean: 1 is an adapter that learned nothing.
  double ErrorOf(std::span<const float> adapter, std::span<const size_t> nodes) const;
  // Whether the rule is made for this many liars beside this many honest nodes, three tenths of
  // which may be down.
  static bool Withstands(size_t liars, size_t honest);

 private:
  std::vector<float> Wanted(size_t node) const;
  // Returns AdapterOf, computed once for all nodes that train from the same items.
  const std::vector<float>& AdapterToTrain(std::span<const federation::Item> held);

  Random random_;
  const federation::AggregationRule* rule_;
  std::vector<float> shared_;
  std::vector<uint64_t> own_;                                   // seeds of h_i
  std::map<uint64_t, std::vector<std::vector<float>>> honest_;  // updates by round
  std::map<std::pair<uint64_t, bench::UpdateAttack>, std::vector<float>> lies_;
  std::map<std::vector<Digest>, std::vector<float>> adapters_to_train_;  // by ids of updates
};

}  // namespace ruvd::test
