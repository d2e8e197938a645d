// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_set.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Keeps a set of contributions and the states between rounds, so that a late contribution costs
// only the rounds from its own on. Its states equal those of ApplyRounds on the set. It takes
// kMaxItems contributions and verdicts at most. Not thread-safe.
class RoundHistory {
 public:
  // Returns INVALID_ARGUMENT for a plan or a checkpoint that is not valid.
  static absl::StatusOr<RoundHistory> Create(LearnerPlan plan, GlobalState checkpoint);

  // Add a part of the set. False if its id is known. Errors: ROUND_SEALED for a round at or before
  // the checkpoint, LIMIT_EXCEEDED, and those of CheckRoundContribution and CheckRoundVerdict.
  absl::StatusOr<bool> Add(RoundContribution contribution);
  // A judge keeps limits::kMaxVerdictsOfJudge verdicts on a round, those with the lowest ids.
  absl::StatusOr<bool> AddVerdict(RoundVerdict verdict);

  // Removes a withdrawn part of a round by its id. False if the round has no such part;
  // ROUND_SEALED if the round is at or before the checkpoint, which may contain the part.
  absl::StatusOr<bool> Remove(const Digest& id, uint64_t round);
  // Does the same for a part whose round the caller does not know; false also if it is settled.
  bool Remove(const Digest& id);
  // Removes everything in which a node had a part: its contributions, sums with it and its
  // verdicts. False if there was nothing. ROUND_SEALED if the checkpoint contains a part of the
  // node: then the later parts are removed, and the owner decides about the checkpoint (Adopt). The
  // owner adds nothing more of the node.
  absl::StatusOr<bool> RemoveMember(const privacy::NodeId& member);

  // Returns the state before the running round `round`: all rounds before it are applied. The
  // reference is valid until the next call that is not const. At or before the checkpoint's round
  // it is the checkpoint.
  const GlobalState& StateBefore(uint64_t round);
  // Returns the oldest round whose contributions changed since the last call of StateBefore.
  std::optional<uint64_t> changed_from() const { return changed_from_; }
  // Rounds that were computed since the history was made; a late contribution adds few to it.
  uint64_t rounds_computed() const { return rounds_computed_; }

  // Folds the rounds that are more than plan.window before `now_round` into the checkpoint and
  // drops their contributions.
  void Seal(uint64_t now_round);
  const GlobalState& checkpoint() const { return checkpoint_; }
  // Returns the contributions of a round that is not settled, by id; valid until the next call of a
  // method that is not const.
  std::vector<const RoundContribution*> ContributionsOf(uint64_t round) const;
  // Replaces the checkpoint, for a newcomer or after a long partition, and drops all contributions
  // of rounds up to it. Returns the errors of CheckState, and then changes nothing.
  absl::Status Adopt(GlobalState checkpoint);

  // Reports of the rounds after the checkpoint that StateBefore has computed, by round.
  const std::map<uint64_t, RoundReport>& reports() const { return reports_; }
  const LearnerPlan& plan() const { return plan_; }
  // How many contributions and verdicts are kept, and how many contributions
  size_t size() const { return round_of_.size(); }
  size_t contributions() const;

 private:
  struct Round {
    std::map<Digest, RoundContribution> contributions;
    std::map<Digest, RoundVerdict> verdicts;
  };

  RoundHistory(LearnerPlan plan, GlobalState checkpoint)
      : plan_(std::move(plan)), checkpoint_(std::move(checkpoint)) {}
  // Returns whether a part with this id and round can be added.
  absl::StatusOr<bool> Admit(const Digest& id, uint64_t round) const;
  // Forgets the states from a round on.
  void Invalidate(uint64_t round);
  // As StateBefore, but what changed stays to be told.
  const GlobalState& Advance(uint64_t round);
  void DropUpTo(uint64_t round);

  LearnerPlan plan_;
  GlobalState checkpoint_;
  std::map<uint64_t, Round> rounds_;  // after the checkpoint; none is empty
  std::map<Digest, uint64_t> round_of_;
  std::map<uint64_t, GlobalState> states_;  // after the first of rounds_, without a gap
  std::map<uint64_t, RoundReport> reports_;
  GlobalState current_;
  std::optional<uint64_t> changed_from_;
  uint64_t rounds_computed_ = 0;
};

}  // namespace ruvd::federation
