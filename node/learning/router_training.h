// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/router/router.h"
#include "node/serving/extensions/request_router.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// The outcome of a request whose route was chosen.
struct RouterOutcome {
  int64_t created_ms = 0;
  size_t route = 0;  // index into NodeRoutes, like all routes here
  inference::RouteSet open;
  std::array<double, inference::kRouterFeatures> features{};
  double propensity = 1;
  bool good = false;
  double cost = 0;  // seconds of computing per token asked for
};

// Returns nullopt if no route was chosen, there is no feedback, another program wrote the
// trajectory, or the route was certain although others were open: then the propensity of 1 would
// make it count for requests on which the others were never tried. A rating of at least
// `min_rating`, an acceptance or a copy is good; an edit is not, because what was served had to be
// corrected.
std::optional<RouterOutcome> OutcomeOf(const storage::Trajectory& trajectory, float min_rating);

// Fewest outcomes of a route from which something is learned about it.
inline constexpr size_t kMinRouteOutcomes = 20;

// Largest number of outcomes for one training, the newest; this takes seconds on one core for the
// largest scorer.
inline constexpr size_t kMaxRouterOutcomes = 4096;

// How much more choosing routes one way is worth than another way, per request, in the cost of one
// completion as asked. Estimated on outcomes that neither was trained on.
struct RouterGain {
  double mean = 0;
  double standard_error = 0;
  size_t outcomes = 0;

  // Returns how far the mean may be from the truth: the half-width of an asymptotic confidence
  // sequence (Waudby-Smith et al. 2021), which may be checked after every outcome; 5 % of all
  // sequences ever miss the truth. This is exact for one fixed router and a growing number of
  // outcomes, as for the serving version; for routers trained again on a window of outcomes it is
  // an approximation.
  double width() const;
  bool positive() const { return outcomes >= kMinJudged && mean > width(); }
  bool negative() const { return outcomes >= kMinJudged && mean < -width(); }

  // With fewer outcomes, the standard error itself is unreliable.
  static constexpr size_t kMinJudged = 2 * kMinRouteOutcomes;
};

struct RouteTraining {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  // What a good completion is worth, in the cost of one completion as asked.
  double value = 10;
  // The serving router, and when it was trained; null: requests are served as asked.
  const inference::Router* serving = nullptr;
  int64_t serving_since_ms = 0;
  // Called between two pieces of work; an error ends the training.
  std::function<absl::Status()> between_pieces = nullptr;
};

struct TrainedRouter {
  std::shared_ptr<const inference::Router> router;  // null if there are too few outcomes
  RouterGain gain;                                  // compared with serving requests as asked
  RouterGain over_serving;  // compared with the serving router, on outcomes since its training
  // The serving router compared with serving requests as asked, on the same outcomes.
  RouterGain serving;
  // Returns whether it may replace the serving router, or serving as asked if no router serves.
  bool better(bool serves) const {
    return router != nullptr && gain.positive() && (!serves || over_serving.positive());
  }
};

// Trains a router over the routes with at least kMinRouteOutcomes outcomes. There is no router if
// serving as asked is not among them, or nothing else is. Scorer and calibration of a route see
// different outcomes; its cost is measured relative to serving as asked, on requests where both
// were open. The gains are measured by cross-fitting: routers trained on four fifths of the
// outcomes are judged on the rest with inverse propensity weights (Horvitz and Thompson 1952).
// Returns the errors of `between_pieces`.
absl::StatusOr<TrainedRouter> TrainRequestRouter(std::span<const RouterOutcome> outcomes,
                                                 const RouteTraining& options, Random& random);

}  // namespace ruvd::learning
