// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/federate_guards.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_world.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "privacy/consent/consent.h"

namespace ruvd::bench {

// How one federation runs.
struct FederationRun {
  FederateSettings settings;
  federation::ContributionKind kind = federation::ContributionKind::kDelta;
  // kPublic adds no noise; the other tiers need kGradient
  privacy::ConsentTier tier = privacy::ConsentTier::kPublic;
  size_t honest = 0;     // nodes that train, the first ones
  size_t attackers = 0;  // behind them
};

struct FederationOutcome {
  federation::BankedValues values;  // of the global adapter
  std::vector<PrivacySpent> spent;  // by honest node
  std::vector<size_t> bytes;        // that an honest node sent to one receiver, all rounds
  nlohmann::json rounds;            // what happened, for the results
};

// Runs rounds as nodes do: every honest node makes its contribution by federation/learner and
// privacy/release, attackers answer in the same format, and the learner applies the set. All nodes
// hold equal sets, so there is one global adapter. The result is cached under everything it depends
// on. Fails as these do, above all with SIGNAL_TOO_WEAK.
absl::StatusOr<FederationOutcome> RunFederation(const FederateWorld& world,
                                                const FederationRun& run);

}  // namespace ruvd::bench
