// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/learner/local_round.h"
#include "federation/learner/plan.h"
#include "privacy/consent/user_consent.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"
#include "privacy/release/release_guards.h"
#include "privacy/release/unit_release.h"

// What a node pays for its part in a round. LocalContributor and the simulated world (tests/sim)
// pay here.
namespace ruvd::sharing {

// The lessons of a contribution, and how they are sampled.
struct LessonSampling {
  std::vector<std::string> names;
  federation::LessonUnits units;                   // places in `names`
  std::vector<privacy::Contributor> contributors;  // whose lessons these are, each once
  double rate = 1;
  uint64_t oldest_joined = 0;
};

// The sum of this node's sampled gradients in a round, without noise. Under a tier with noise one
// release may be made of it, once.
struct PreparedSum {
  uint64_t round = 0;
  privacy::UnitSum sum;
  LessonSampling sampling;
};

// This node's input to a masked sum, before it is paid for.
struct NoisedShare {
  privacy::masking::MaskInput input;
  privacy::LedgerCharge charge;  // what it will cost
  size_t lessons = 0;            // that could be in it
};

// Makes this node's share of the sum of a clique (LocalContributor::NoiseShare).
using ShareMaker = std::function<absl::StatusOr<NoisedShare>(
    const PreparedSum& sum, const privacy::masking::Clique& clique)>;
// Charges for a share, and returns the reservation (LocalContributor::PayForShare).
using SharePayer = std::function<absl::StatusOr<uint64_t>(const PreparedSum& sum,
                                                          const privacy::LedgerCharge& charge)>;

// Returns the number of a round in the privacy ledger, which is the second of Unix time in which it
// begins, so that the order of rounds stays right if their length is changed.
uint64_t LedgerRoundOf(const federation::LearnerPlan& plan, uint64_t round);

// Returns PRIVACY_BUDGET_SPENT if a round was charged already, because its sample is released only
// once, and INVALID_ARGUMENT if the clock went back behind a charge. `newest_charged` is the
// ledger's newest round of the plan's unit.
absl::Status CheckNotCharged(const federation::LearnerPlan& plan, uint64_t round,
                             uint64_t newest_charged, int64_t now_ms);

// Returns the terms of the charge for a sample.
privacy::UnitReleaseTerms TermsOfRound(const federation::LearnerPlan& plan, uint64_t round,
                                       const LessonSampling& sampling,
                                       const privacy::UnitBudget& budget, std::string scope);

// Pays for this sum under the tier `dp`, and adds whole noise. Fails as CheckNotCharged and
// privacy::PrepareUnits do.
absl::StatusOr<privacy::PreparedUnits> PayForSum(const federation::LearnerPlan& plan,
                                                 PreparedSum sum,
                                                 const privacy::UnitReleaseTerms& terms,
                                                 uint64_t newest_charged,
                                                 const privacy::ReleaseGuards& guards);

// Makes a share of this sum in the sum of `clique` under the tier `masked`, with this node's part
// of the noise, and pays nothing yet. Fails as CheckNotCharged and privacy::NoiseUnitShare do.
absl::StatusOr<NoisedShare> NoiseShare(const federation::LearnerPlan& plan, const PreparedSum& sum,
                                       const privacy::masking::Clique& clique,
                                       const privacy::UnitReleaseTerms& terms,
                                       uint64_t newest_charged,
                                       const privacy::ReleaseGuards& guards);

// Pays for a share of this sum, after which the share may leave, and returns the reservation. Fails
// as CheckNotCharged and privacy::PayForUnitShare do.
absl::StatusOr<uint64_t> PayForShare(const federation::LearnerPlan& plan, const PreparedSum& sum,
                                     const privacy::LedgerCharge& charge,
                                     const privacy::UnitReleaseTerms& terms,
                                     uint64_t newest_charged, const privacy::ReleaseGuards& guards);

}  // namespace ruvd::sharing
