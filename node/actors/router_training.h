// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/router/router.h"
#include "node/actors/request_router.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd {

// What became of a request that a way was chosen for.
struct RouterOutcome {
  size_t route = 0;  // of NodeRoutes, as all numbers here
  RouteSet open;
  std::array<double, kRouterFeatures> features{};
  double propensity = 1;
  bool good = false;
  double cost = 0;  // seconds of computing for each token that was asked for
};

// Nullopt where nothing was chosen, nobody said or did anything about it, or another program wrote
// it. Good is a rating of at least `min_rating`, an acceptance or a copy; an edit is not, since
// what was served had to be corrected.
std::optional<RouterOutcome> OutcomeOf(const Trajectory& trajectory, float min_rating);

// Outcomes of a way of serving without which nothing is learned of it.
inline constexpr size_t kLeastRouteOutcomes = 20;

// Outcomes that one training takes, the newest: seconds of a core for the largest scorer.
inline constexpr size_t kMostRouterOutcomes = 4096;

struct RouteTraining {
  ScorerKind kind = ScorerKind::kLogistic;
  // What a good completion is worth, in completions as they are asked for.
  double value = 10;
  // Called between two pieces of work; an error ends the training.
  std::function<absl::Status()> between_pieces = nullptr;
};

struct TrainedRouter {
  std::shared_ptr<const Router> router;  // null where too few outcomes are known
  // What it is worth more than serving requests as they ask for, in completions a request, measured
  // on outcomes that it was not trained on, and the standard error.
  double gain = 0;
  double standard_error = 0;
  bool better() const { return router != nullptr && gain > standard_error; }
};

// A router over the ways with kLeastRouteOutcomes outcomes; none where serving as asked is not
// among them, or nothing else is. Each way's scorer and calibration see different outcomes; its
// cost is measured beside that of serving as asked, where both were open. The gain is that of
// routers trained on four fifths of the outcomes each, on the rest (inverse propensity weights;
// Horvitz and Thompson 1952). The errors of `between_pieces`.
absl::StatusOr<TrainedRouter> TrainRequestRouter(std::span<const RouterOutcome> outcomes,
                                                 const RouteTraining& options, Random& random);

}  // namespace ruvd
