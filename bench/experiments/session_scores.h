// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/experiments/instant_arms.h"
#include "bench/experiments/sessions.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// How sessions are run: each request is predicted, then learned.
struct SessionRuns {
  SessionShape shape;
  bool masked = true;  // false: from left to right
  int seeds = 1;       // draws of masks
};

inline constexpr size_t kTimestepBins = 10;

// What an arm did on a set of sessions.
struct ArmResult {
  std::vector<double> nats;                  // by session
  std::vector<double> late;                  // the same of the second half of the requests
  std::array<double, kTimestepBins> by_t{};  // sums
  std::array<double, kTimestepBins> counts{};
};

// Runs all arms on the same requests and masks; returns a result for each. Fails as PredictRequest
// does.
absl::StatusOr<std::vector<ArmResult>> RunSessions(inference::Transformer& transformer,
                                                   const std::vector<Session>& sessions,
                                                   const SessionRuns& runs,
                                                   const std::vector<ArmSettings>& arms);

}  // namespace ruvd::bench
