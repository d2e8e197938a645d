// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/federate_release.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/federate_world.h"
#include "federation/daf/bank_gate.h"

namespace ruvd::bench {

// How one federation runs.
struct FederationPlan {
  FederateSettings settings;
  size_t honest = 0;     // nodes that train, the first ones
  size_t attackers = 0;  // behind them
  bool noise = true;     // tier dp: false means that updates are only clipped
};

// The outcome of one honest node.
struct NodeOutcome {
  federation::BankedValues values;  // of its global adapter
  size_t committed = 0;             // rounds
  size_t bytes = 0;                 // sent to one receiver, all rounds
};

struct FederationOutcome {
  std::vector<NodeOutcome> nodes;
  PrivacySpent spent;
  nlohmann::json rounds;  // what happened, for the results
};

// Trains, releases, attacks, aggregates and gates, round by round. The result is cached under
// everything it depends on. Noise of the operating system makes each run a different one, which is
// cached as well.
absl::StatusOr<FederationOutcome> RunFederation(const FederateWorld& world,
                                                const FederationPlan& plan);

}  // namespace ruvd::bench
