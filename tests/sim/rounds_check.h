// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "federation/events/item.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "federation/learner/rounds.h"
#include "tests/sim/masked_model.h"

namespace ruvd::test {

// Returns a sum as if it were one of the next round, under another name: a defect.
ContributionPtr AgainInNextRound(const federation::RoundContribution& sum);

// What the rounds of a world must give, by ApplyRounds: computed once for all nodes that hold the
// same items. Not thread-safe.
class RoundsModel {
 public:
  using Set = ContributionSet;

  explicit RoundsModel(std::shared_ptr<const federation::LearnerPlan> plan)
      : plan_(std::move(plan)), masked_(plan_) {}

  const federation::LearnerPlan& plan() const { return *plan_; }
  MaskedModel& masked() { return masked_; }
  // Returns what an item gives to its round; null for an item of another kind.
  ContributionPtr ContributionOf(const federation::Item& item);
  // Returns the state after `until`. Contributions of rounds up to that of `from`, or after
  // `until`, have no effect.
  federation::GlobalState After(const federation::GlobalState& from, const Set& set,
                                uint64_t until);

 private:
  std::shared_ptr<const federation::LearnerPlan> plan_;
  MaskedModel masked_;
  std::map<Digest, ContributionPtr> contributions_;
  // By the state before, the last round and the hash of the contributions
  std::map<std::tuple<Digest, uint64_t, Digest>, federation::GlobalState> states_;
};

// Follows the ClusterRounds of one node through all its processes and compares every state that
// they settle, offer or show with what the node's items give. Not thread-safe.
class RoundsCheck {
 public:
  // Takes an invariant and what violated it.
  using Report = std::function<void(std::string invariant, std::string detail)>;

  // `model` must outlive the check.
  RoundsCheck(RoundsModel& model, Report report) : model_(&model), report_(std::move(report)) {}

  // ---- What the node's core said. A process began with this settled state.
  void Started(const federation::GlobalState& settled);
  void Accepted(const federation::Item& item);
  void Withdrawn(const federation::Item& item);
  void Dropped(const Digest& id);

  // ---- What its rounds did. They offer a checkpoint; called before Settled after the same input.
  void Offers(const federation::ClusterRounds::Checkpoint& checkpoint);
  // Called after every input that may settle a round or take another state. `may_begin_anew`:
  // the input said that a member is expelled, or that the clock was set back.
  void Settled(const federation::GlobalState& settled, bool may_begin_anew);
  // At the end: the state before `round` is that of the settled state and of `held`.
  void CheckState(const federation::GlobalState& state, uint64_t round,
                  const std::vector<federation::Item>& held);

  // Returns the sums of a round that the node's items give.
  RoundsModel::Set SumsOf(uint64_t round) const;

  uint64_t settled() const { return settled_count_; }
  uint64_t taken() const { return taken_count_; }

 private:
  // A contribution that counts in its round. One that expired counts until its round is settled.
  struct Counted {
    ContributionPtr contribution;
    bool live = true;
  };
  // Items of masked rounds, by round.
  using MaskItems = std::map<uint64_t, MaskedModel::Items>;

  // Returns the contributions and sums that count in the rounds after `after` and up to `until`.
  RoundsModel::Set Counting(uint64_t after, uint64_t until) const;
  // Adds the sums of these rounds that `items` give.
  void AddSums(const MaskItems& items, uint64_t after, uint64_t until, RoundsModel::Set& set) const;
  // Whether a state has a sum in the round after its own, too.
  bool CountsSumTwice(const federation::GlobalState& state) const;
  // Whether a state is that of the node's items and of some that were withdrawn here.
  bool IsWithWithdrawn(const federation::GlobalState& state) const;
  bool IsTaken(const federation::GlobalState& state) const;
  bool IsBegunAnew(const federation::GlobalState& state) const;
  void Differs(const federation::GlobalState& state, std::string_view what);

  RoundsModel* model_;
  Report report_;
  std::optional<federation::GlobalState> state_;  // the settled one
  std::map<uint64_t, std::map<Digest, Counted>> rounds_;
  std::map<Digest, uint64_t> round_of_;
  MaskItems mask_items_;
  MaskItems mask_items_withdrawn_;  // with those that the node still has
  RoundsModel::Set withdrawn_;
  RoundsModel::Set withdrawn_earlier_;  // by an earlier process
  std::set<Digest> votes_;  // hashes of the checkpoints that the process offered or accepted
  std::set<Digest> known_;  // digests of all states that the node settled
  uint64_t settled_count_ = 0;
  uint64_t taken_count_ = 0;
};

}  // namespace ruvd::test
