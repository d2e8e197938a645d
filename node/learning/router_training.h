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
#include "node/serving/request_router.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// What became of a request that a way was chosen for.
struct RouterOutcome {
  int64_t created_ms = 0;
  size_t route = 0;  // of NodeRoutes, as all numbers here
  inference::RouteSet open;
  std::array<double, inference::kRouterFeatures> features{};
  double propensity = 1;
  bool good = false;
  double cost = 0;  // seconds of computing for each token that was asked for
};

// Nullopt where nothing was chosen, nobody said or did anything about it, another program wrote
// it, or it was sure to be chosen although other ways were open: of those nothing is known then,
// and with a propensity of 1 it would count for requests for which they were never tried. Good is a
// rating of at least `min_rating`, an acceptance or a copy; an edit is not, since what was served
// had to be corrected.
std::optional<RouterOutcome> OutcomeOf(const storage::Trajectory& trajectory, float min_rating);

// Outcomes of a way of serving without which nothing is learned of it.
inline constexpr size_t kLeastRouteOutcomes = 20;

// Outcomes that one training takes, the newest: seconds of a core for the largest scorer.
inline constexpr size_t kMostRouterOutcomes = 4096;

// What choosing one way for each request is worth more than another way of choosing, in completions
// a request, by outcomes that neither was trained on.
struct RouterGain {
  double mean = 0;
  double standard_error = 0;
  size_t outcomes = 0;

  // How far the mean may be from the truth: the asymptotic confidence sequence of Waudby-Smith et
  // al. 2021, which may be asked again after each outcome; 0.05 of all sequences ever leave it.
  // That is exact for one router and outcomes that only grow in number, as of the version that
  // serves; for routers trained anew on a window of outcomes it is an approximation.
  double width() const;
  bool positive() const { return outcomes >= kLeastJudged && mean > width(); }
  bool negative() const { return outcomes >= kLeastJudged && mean < -width(); }

  // Below this the standard error itself is a guess.
  static constexpr size_t kLeastJudged = 2 * kLeastRouteOutcomes;
};

struct RouteTraining {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  // What a good completion is worth, in completions as they are asked for.
  double value = 10;
  // The router that chooses by now, and when it was trained; null: requests are served as asked.
  const inference::Router* serving = nullptr;
  int64_t serving_since_ms = 0;
  // Called between two pieces of work; an error ends the training.
  std::function<absl::Status()> between_pieces = nullptr;
};

struct TrainedRouter {
  std::shared_ptr<const inference::Router> router;  // null where too few outcomes are known
  RouterGain gain;                                  // over serving requests as they ask for
  RouterGain over_serving;  // over the router that serves, by outcomes since that was trained
  // Of the router that serves over serving requests as they ask for, by the same outcomes.
  RouterGain serving;
  // Whether it may take the place of `serving`, or of serving as asked where that is null.
  bool better(bool serves) const {
    return router != nullptr && gain.positive() && (!serves || over_serving.positive());
  }
};

// A router over the ways with kLeastRouteOutcomes outcomes; none where serving as asked is not
// among them, or nothing else is. Each way's scorer and calibration see different outcomes; its
// cost is measured beside that of serving as asked, where both were open. The gains are those of
// routers trained on four fifths of the outcomes each, on the rest (inverse propensity weights;
// Horvitz and Thompson 1952). The errors of `between_pieces`.
absl::StatusOr<TrainedRouter> TrainRequestRouter(std::span<const RouterOutcome> outcomes,
                                                 const RouteTraining& options, Random& random);

}  // namespace ruvd::learning
