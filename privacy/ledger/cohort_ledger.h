// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/gaussian_thresholds.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/unit_budget.h"

namespace ruvd::privacy {

// What units of one kind have spent, by the round in which they joined: a charge of a round
// concerns all units that joined from some round on, so all units of one joining round, a cohort,
// have spent the same. It holds nothing about single units and is replayed from a ledger's entries.
// Rounds are numbered from 1; a unit that has been there for ever joined in round 0. A query takes
// a time that is linear in the number of charges. Not thread-safe.
class CohortLedger {
 public:
  // The budget is that of one unit; the ledger counts also without one (epsilon 0).
  explicit CohortLedger(const UnitBudget& budget) : budget_(budget) {}

  // Charges all units that joined in [oldest, round]. Another charge of the newest round, such as a
  // second attempt, adds to it and is no further round; an attempt on the sample of the first one
  // must be charged what SampledCurve of the sum of both rhos adds to the first charge. Fails with
  // INVALID_ARGUMENT, and adds nothing, for a round that is 0, kMaxRound or more, below `oldest`,
  // or below an earlier round.
  absl::Status Add(uint64_t round, uint64_t oldest, const dp::RdpCurve& cost);
  // Charges all units that joined by `round`, which is below kMaxRound, for a release that is no
  // round of theirs. It may be older than the newest round.
  void AddBesides(uint64_t round, const dp::RdpCurve& cost);
  // Charges all units, those that join later among them. It is for releases outside rounds.
  void AddForAll(const dp::RdpCurve& cost) { for_all_ += cost; }

  // Returns PRIVACY_BUDGET_SPENT, with the figures, if a unit that joined in [oldest, round] would
  // exceed epsilon, and INVALID_ARGUMENT where Add does.
  absl::Status Check(uint64_t round, uint64_t oldest, const dp::RdpCurve& cost) const;
  // Returns the errors of Check for a charge of all units.
  absl::Status CheckForAll(const dp::RdpCurve& cost) const;

  // Returns the oldest joining round whose units may still take part in `round` at this cost; older
  // ones have had all their rounds or would exceed epsilon. Units that were once too old stay so. A
  // result above `round` means that no unit may.
  uint64_t OldestEligible(uint64_t round, const dp::RdpCurve& cost) const;

  // Returns the number of rounds that a unit which joined in `joined` has taken part in.
  uint32_t RoundsTaken(uint64_t joined) const;
  // Returns the epsilon that such a unit has spent. Both functions below fail with INVALID_ARGUMENT
  // unless 0 < delta < 1.
  absl::StatusOr<double> EpsilonOfCohort(uint64_t joined, double delta) const;
  // Returns the largest epsilon of any unit.
  absl::StatusOr<double> LargestEpsilon(double delta) const;

  // Returns the newest round that was charged; 0: none was.
  uint64_t newest_round() const { return newest_round_; }

 private:
  // By how much the units of a joining round have spent more than those of the round before. The
  // numbers wrap around, so that a decrease is possible.
  struct Step {
    std::array<dp::Uint128, dp::RdpCurve::kOrders> q32{};
    uint32_t rounds = 0;
  };
  // Neighbouring cohorts that have spent the same.
  struct Cohorts {
    uint64_t first = 0;
    uint64_t last = 0;
    dp::RdpCurve spent;
    uint32_t rounds = 0;
  };
  absl::Status CheckRound(uint64_t round, uint64_t oldest) const;
  void AddCost(uint64_t first, uint64_t last, const dp::RdpCurve& cost);
  // Shows the cohorts that joined in [first, last], from the oldest to the newest, until the
  // visitor returns false.
  void Visit(uint64_t first, uint64_t last,
             const std::function<bool(const Cohorts&)>& visitor) const;
  absl::Status CheckCohorts(uint64_t first, uint64_t last, const dp::RdpCurve& cost) const;
  absl::Status Spent(const Cohorts& cohorts, double after) const;
  bool MayTakePart(const Cohorts& cohorts, uint64_t round, const dp::RdpCurve& cost) const;

  UnitBudget budget_;
  std::map<uint64_t, Step> steps_;  // by joining round
  dp::RdpCurve for_all_;
  uint64_t newest_round_ = 0;
  uint64_t newest_from_ = 0;     // the oldest cohort that the newest round counts for
  uint64_t retired_before_ = 0;  // older cohorts were left out of a round
};

}  // namespace ruvd::privacy
