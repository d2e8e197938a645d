// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/router_training.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/status.h"

namespace ruvd::learning {
namespace {

// Limits a weight, so that one rare outcome does not outweigh all others of a route.
constexpr double kMostWeight = 20;
constexpr size_t kFolds = 5;
// One in this many of a route's outcomes is used for calibration.
constexpr size_t kCalibrationPart = 4;

using Outcomes = std::vector<const RouterOutcome*>;

// Explicit feedback takes precedence over implicit signals.
std::optional<bool> VerdictOf(const storage::Trajectory& trajectory, float min_rating) {
  if (trajectory.rating) {
    return *trajectory.rating >= min_rating;
  }
  if (trajectory.accepted) {
    return trajectory.accepted;
  }
  if (trajectory.edited_text || trajectory.regenerated) {
    return false;
  }
  return trajectory.copied ? std::optional(true) : std::nullopt;
}

inference::ScorerShape ShapeOf(inference::ScorerKind kind) {
  return {.kind = kind,
          .inputs = inference::kRouterFeatures,
          .hidden = 16,
          .steps = kind == inference::ScorerKind::kFastGrnn ? 4U : 1U,
          .confidence = inference::kConfidenceFeature};
}

double WeightOf(const RouterOutcome& outcome) {
  return std::min(kMostWeight, 1 / outcome.propensity);
}

// Returns the weighted mean cost of the outcomes of `route` on requests where `beside` was open,
// too; 0 without any.
double MeanCost(const Outcomes& outcomes, size_t route, size_t beside) {
  double sum = 0;
  double weights = 0;
  for (const RouterOutcome* outcome : outcomes) {
    if (outcome->route == route && outcome->open[beside]) {
      sum += outcome->cost / outcome->propensity;
      weights += 1 / outcome->propensity;
    }
  }
  return weights > 0 ? sum / weights : 0;
}

// Returns the cost relative to a request served as asked.
double RelativeCost(const Outcomes& outcomes, size_t route) {
  const double own = MeanCost(outcomes, route, route);
  const double as_asked = MeanCost(outcomes, serving::kRouteUnchanged, route);
  return as_asked > 0 ? own / as_asked : 1;
}

size_t CountOf(const Outcomes& outcomes, size_t route) {
  return static_cast<size_t>(std::ranges::count_if(
      outcomes, [route](const RouterOutcome* outcome) { return outcome->route == route; }));
}

absl::StatusOr<inference::Router::Entry> TrainRoute(const Outcomes& outcomes, size_t route,
                                                    const RouteTraining& options, Random& random) {
  std::vector<inference::RoutingExample> examples;
  for (const RouterOutcome* outcome : outcomes) {
    if (outcome->route == route) {
      examples.push_back({.features = {outcome->features.begin(), outcome->features.end()},
                          .good = outcome->good,
                          .weight = WeightOf(*outcome)});
    }
  }
  random.Shuffle(std::span(examples));
  const size_t calibrating = examples.size() / kCalibrationPart;
  const auto training = std::span(examples).subspan(calibrating);
  ASSIGN_OR_RETURN(std::unique_ptr<inference::Scorer> scorer,
                   inference::Scorer::Create(ShapeOf(options.kind), random));
  RETURN_IF_ERROR(inference::TrainScorer(training, {}, random, scorer.get()));
  inference::Router::Entry entry{.route = serving::NodeRoutes().at(route)};
  entry.route.cost = RelativeCost(outcomes, route);
  entry.calibration = inference::FitCalibration(*scorer, std::span(examples).first(calibrating));
  entry.scorer = std::move(scorer);
  return entry;
}

// Trains a router over the routes in `known`. It is serialised and parsed, so that it is judged
// with the same rounded numbers as the stored one.
absl::StatusOr<inference::Router> TrainEntries(const Outcomes& outcomes,
                                               const inference::RouteSet& known,
                                               const RouteTraining& options, Random& random) {
  std::vector<inference::Router::Entry> entries;
  for (size_t route = 0; route < serving::kNodeRoutes; ++route) {
    if (!known[route]) {
      continue;
    }
    if (options.between_pieces) {
      RETURN_IF_ERROR(options.between_pieces());
    }
    ASSIGN_OR_RETURN(inference::Router::Entry entry, TrainRoute(outcomes, route, options, random));
    entries.push_back(std::move(entry));
  }
  const inference::RouterOptions served{.value = options.value, .exploration = 0};
  ASSIGN_OR_RETURN(const inference::Router router,
                   inference::Router::Create(std::move(entries), served));
  return inference::Router::Parse(router.Serialize(), served);
}

// The route that a router takes for a request, and the cost of each route.
class Policy {
 public:
  explicit Policy(const inference::Router& router) : router_(router) {
    for (const inference::Router::Entry& entry : router.entries()) {
      routes_.push_back(serving::NodeRouteByName(entry.route.name).value_or(serving::kNodeRoutes));
    }
  }
  size_t RouteOf(const RouterOutcome& outcome) const {
    inference::RouteSet open;
    for (size_t i = 0; i < routes_.size(); ++i) {
      open.set(i, outcome.open[routes_[i]]);
    }
    return routes_[router_.Best(outcome.features, open).route];
  }
  // Returns 1, the cost of serving as asked, for a route that the router does not know.
  double CostOf(size_t route) const {
    const auto found = std::ranges::find(routes_, route);
    return found == routes_.end()
               ? 1
               : router_.entries()[static_cast<size_t>(found - routes_.begin())].route.cost;
  }

 private:
  const inference::Router& router_;
  std::vector<size_t> routes_;
};

// Appends, for each outcome, an estimate of how much more the router's choices are worth than those
// of `other` (null: serving as asked).
void AddGains(const Policy& policy, const Policy* other, const Outcomes& outcomes, double value,
              std::vector<double>* gains) {
  std::vector<double> rewards;
  for (const RouterOutcome* outcome : outcomes) {
    rewards.push_back((outcome->good ? value : 0) - policy.CostOf(outcome->route));
  }
  // The mean reward is subtracted, because it would only add noise.
  const double usual = std::accumulate(rewards.begin(), rewards.end(), 0.0) /
                       static_cast<double>(std::max<size_t>(1, rewards.size()));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const RouterOutcome& outcome = *outcomes[i];
    const size_t instead = other == nullptr ? serving::kRouteUnchanged : other->RouteOf(outcome);
    const int chosen = policy.RouteOf(outcome) == outcome.route ? 1 : 0;
    const int before = outcome.route == instead ? 1 : 0;
    gains->push_back((chosen - before) * (rewards[i] - usual) / outcome.propensity);
  }
}

RouterGain GainOf(const std::vector<double>& gains) {
  RouterGain gain{.outcomes = gains.size()};
  if (gains.empty()) {
    return gain;
  }
  const auto count = static_cast<double>(gains.size());
  gain.mean = std::accumulate(gains.begin(), gains.end(), 0.0) / count;
  double squares = 0;
  for (const double one : gains) {
    squares += (one - gain.mean) * (one - gain.mean);
  }
  gain.standard_error = std::sqrt(squares / count / std::max(1.0, count - 1));
  return gain;
}

Outcomes Since(const Outcomes& outcomes, int64_t trained_ms) {
  Outcomes since;
  std::ranges::copy_if(outcomes, std::back_inserter(since), [&](const RouterOutcome* outcome) {
    return outcome->created_ms > trained_ms;
  });
  return since;
}

// Measures the gains of routers trained on four fifths of the outcomes, on the rest.
absl::Status CrossFit(const Outcomes& all, const inference::RouteSet& known,
                      const RouteTraining& options, Random& random, TrainedRouter* trained) {
  std::optional<Policy> serving;
  if (options.serving != nullptr) {
    serving.emplace(*options.serving);
  }
  std::vector<double> gains;
  std::vector<double> over_serving;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    Outcomes taught;
    Outcomes held_back;
    for (size_t i = 0; i < all.size(); ++i) {
      (i % kFolds == fold ? held_back : taught).push_back(all[i]);
    }
    ASSIGN_OR_RETURN(const inference::Router router, TrainEntries(taught, known, options, random));
    const Policy policy(router);
    AddGains(policy, nullptr, held_back, options.value, &gains);
    if (serving) {
      AddGains(policy, &*serving, Since(held_back, options.serving_since_ms), options.value,
               &over_serving);
    }
  }
  trained->gain = GainOf(gains);
  trained->over_serving = GainOf(over_serving);
  return absl::OkStatus();
}

}  // namespace

double RouterGain::width() const {
  constexpr double kRatio = 0.018;  // tightest at about 500 outcomes
  constexpr double kAlpha = 0.05;
  const double looks = kRatio * static_cast<double>(std::max<size_t>(1, outcomes));
  return standard_error *
         std::sqrt(2 * (looks + 1) / looks * std::log(std::sqrt(looks + 1) / kAlpha));
}

std::optional<RouterOutcome> OutcomeOf(const storage::Trajectory& trajectory, float min_rating) {
  const std::optional<bool> good = VerdictOf(trajectory, min_rating);
  if (!trajectory.route || !good ||
      trajectory.route->features.size() != inference::kRouterFeatures) {
    return std::nullopt;
  }
  const storage::TrajectoryRoute& taken = *trajectory.route;
  if (!taken.others.empty() && taken.propensity >= 1) {
    return std::nullopt;
  }
  const std::optional<size_t> route = serving::NodeRouteByName(taken.name);
  if (!route) {
    return std::nullopt;
  }
  RouterOutcome outcome{.created_ms = trajectory.created_ms,
                        .route = *route,
                        .propensity = taken.propensity,
                        .good = *good,
                        .cost = taken.seconds / static_cast<double>(std::max(1U, taken.tokens))};
  outcome.open.set(serving::kRouteUnchanged);
  outcome.open.set(*route);
  for (const std::string& other : taken.others) {
    if (const auto number = serving::NodeRouteByName(other)) {
      outcome.open.set(*number);
    }
  }
  std::ranges::copy(taken.features, outcome.features.begin());
  return outcome;
}

absl::StatusOr<TrainedRouter> TrainRequestRouter(std::span<const RouterOutcome> outcomes,
                                                 const RouteTraining& options, Random& random) {
  Outcomes all;
  for (const RouterOutcome& outcome : outcomes) {
    // A cascade cannot learn from requests without the features of a first forward.
    if (options.kind != inference::ScorerKind::kCascade ||
        outcome.features[inference::kFirstForwardFeature] > 0) {
      all.push_back(&outcome);
    }
  }
  inference::RouteSet known;
  for (size_t route = 0; route < serving::kNodeRoutes; ++route) {
    known.set(route, CountOf(all, route) >= kMinRouteOutcomes);
  }
  TrainedRouter trained;
  if (options.serving != nullptr) {
    std::vector<double> gains;
    AddGains(Policy(*options.serving), nullptr, Since(all, options.serving_since_ms), options.value,
             &gains);
    trained.serving = GainOf(gains);
  }
  if (!known[serving::kRouteUnchanged] || known.count() < 2) {
    return trained;
  }
  random.Shuffle(std::span(all));
  RETURN_IF_ERROR(CrossFit(all, known, options, random, &trained));
  ASSIGN_OR_RETURN(inference::Router router, TrainEntries(all, known, options, random));
  trained.router = std::make_shared<const inference::Router>(std::move(router));
  return trained;
}

}  // namespace ruvd::learning
