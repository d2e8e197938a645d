// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "federation/learner/contribution.h"
#include "federation/learner/plan.h"
#include "federation/learner/verdict.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// A contribution with its place in its round.
struct RoundContribution {
  Digest id{};               // of the item; of the set (Clique::SetHash) for a sum
  privacy::NodeId origin{};  // the set hash for a sum
  uint32_t attempt = 0;      // of a sum; if sums share a member, the lowest attempt counts
  std::vector<privacy::NodeId> members;  // of a sum, ascending; else empty
  Contribution contribution;
};

// A verdict with its judge. If a judge has several on a round, that with the lowest id counts. Only
// a cluster that shares its lessons openly has verdicts (LearnerPlan::strategy).
struct RoundVerdict {
  Digest id{};  // of the item
  privacy::NodeId judge{};
  Verdict verdict;
};

// What the result of rounds depends on: contributions and verdicts in any order, all borrowed.
// Equal ids have equal contents; what is listed twice counts once.
struct RoundSet {
  std::vector<const RoundContribution*> contributions;
  std::vector<const RoundVerdict*> verdicts;
};

// Returns the errors of CheckContribution, and UPDATE_INVALID for members that are not those of the
// contribution, ascending.
absl::Status CheckRoundContribution(const RoundContribution& one, const LearnerPlan& plan);
// Returns the errors of CheckVerdict.
absl::Status CheckRoundVerdict(const RoundVerdict& verdict, const LearnerPlan& plan);

// What became of each contribution of a round.
struct RoundReport {
  struct Part {
    privacy::NodeId origin{};
    size_t members = 1;
    double norm = 0;        // over all banks, as sent
    double weight = 0;      // the largest in any bank
    double distance = 0;    // to the rule's result, over the banks in which it has a weight
    double cosine = 0;      // with that result
    size_t judges = 0;      // other members whose verdicts name it
    bool left_out = false;  // by the rule in a bank, because it stands apart from the others
    absl::Status refused;
  };
  uint64_t round = 0;
  std::vector<Part> parts;           // by origin
  std::vector<size_t> contributors;  // by bank: contributions with a weight
  size_t verdicts = 0;               // that counted: one of each judge
  double step = 1;  // the share of a whole step that it made: below 1 without a quorum
};

}  // namespace ruvd::federation
