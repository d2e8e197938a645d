// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "bench/update_attacks.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/learner/contribution.h"
#include "federation/learner/plan.h"

namespace ruvd::bench {

// Returns values as units of one node's sum, of at most `most` in magnitude.
std::vector<int32_t> UnitsOf(std::span<const float> values, const federation::LearnerPlan& plan,
                             double most);
// Returns the value of one unit of one node's sum.
double UnitValue(const federation::LearnerPlan& plan);

// Returns the values of all banks; zeros for a bank that was not trained.
std::vector<float> FlatValues(const federation::Contribution& contribution,
                              const federation::LearnerPlan& plan);

// Returns a contribution of all banks with these values that says of itself what `honest` says.
federation::Contribution LieLike(const federation::Contribution& honest,
                                 std::span<const float> values,
                                 const federation::LearnerPlan& plan);

// A member that lies in what it gives to rounds. It knows what a real member can know: the
// contributions of others that have reached it in the running round, or those of the round before
// if fewer than two have and it knows more of them. In the first round it may know none, and then
// takes its own contribution for that of an honest member. Not thread-safe.
class LyingMember {
 public:
  // `attack` is neither kNone nor kCopies.
  LyingMember(UpdateAttack attack, uint64_t seed) : attack_(attack), random_(seed) {}

  // Returns what the member gives in place of `own`.
  federation::Contribution Lie(const federation::Contribution& own,
                               const federation::ClusterRounds& rounds);

 private:
  std::vector<std::vector<float>> KnownOf(uint64_t round,
                                          const federation::ClusterRounds& rounds) const;

  UpdateAttack attack_;
  Random random_;
  std::optional<federation::Contribution> last_;  // its last lie, which is no honest contribution
};

}  // namespace ruvd::bench
