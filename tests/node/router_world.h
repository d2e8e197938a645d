// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "node/serving/extensions/request_router.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::test {

// Returns a router that takes one route wherever it is open.
inline std::shared_ptr<const inference::Router> RouterThatTakes(size_t route) {
  std::vector<inference::Router::Entry> entries;
  for (const size_t number : {serving::kRouteUnchanged, route}) {
    Random random(1);
    std::unique_ptr<inference::Scorer> scorer =
        inference::Scorer::Create(
            {.kind = inference::ScorerKind::kLogistic, .inputs = inference::kRouterFeatures},
            random)
            .value();
    scorer->parameters().back() = number == route ? 5 : -5;
    entries.push_back({.route = serving::NodeRoutes().at(number),
                       .scorer = std::move(scorer),
                       .calibration = {}});
  }
  return std::make_shared<const inference::Router>(
      inference::Router::Create(std::move(entries), {.value = 10}).value());
}

// A world in which half of the steps are enough for long prompts, and hardly ever for short ones;
// they cost half. Serving without adapters is never better until the world changes: then half of
// the steps are never enough, and short prompts are served best without adapters.
class RouterWorld {
 public:
  explicit RouterWorld(uint64_t seed) : random_(seed) {}

  inference::RequestFeatures Request() {
    return {.prompt_tokens = static_cast<int>(random_.Bernoulli(0.5) ? 300 + random_.Below(200)
                                                                     : 5 + random_.Below(20)),
            .max_tokens = 32,
            .diffusion = true,
            .queue_share = static_cast<float>(random_.Uniform())};
  }
  static inference::RouteSet Open() { return inference::RouteSet(0b1011); }
  void Change() { changed_ = true; }
  static bool Long(const inference::RequestFeatures& facts) { return facts.prompt_tokens > 100; }
  static double GoodShare(const inference::RequestFeatures& facts, size_t route) {
    constexpr double kUsual = 0.7;
    const double half = Long(facts) ? 0.95 : 0.1;
    return route == serving::kRouteHalfSteps    ? half
           : route == serving::kRouteNoAdapters ? 0.3
                                                : kUsual;
  }
  static double Cost(size_t route) { return route == serving::kRouteHalfSteps ? 0.5 : 1; }
  // Returns the average value of a request that is served by this route.
  static double Worth(const inference::RequestFeatures& facts, size_t route, double value) {
    return value * GoodShare(facts, route) - Cost(route);
  }

  // Returns a request that the router chose for, served and rated.
  storage::Trajectory Serve(serving::RequestRouter& router, const std::string& response_id) {
    const inference::RequestFeatures facts = Request();
    const serving::RoutedRequest routed = router.Choose(facts, Open());
    const size_t route = routed.decision.route;
    storage::Trajectory trajectory{.response_id = response_id, .completion = "text"};
    trajectory.route = {
        .name = serving::NodeRoutes().at(route).name,
        .features = {routed.features.begin(), routed.features.end()},
        .propensity = static_cast<float>(routed.decision.propensity),
        .probability = static_cast<float>(routed.decision.probability),
        .explored = routed.decision.explored,
        .seconds = static_cast<float>(Cost(route) * (0.9 + 0.2 * random_.Uniform())),
        .tokens = 32};
    for (size_t i = 0; i < serving::kNodeRoutes; ++i) {
      if (Open()[i] && i != route) {
        trajectory.route->others.push_back(serving::NodeRoutes().at(i).name);
      }
    }
    const double share = !changed_                           ? GoodShare(facts, route)
                         : route == serving::kRouteHalfSteps ? 0
                         : route == serving::kRouteNoAdapters && !Long(facts) ? 1
                                                                              : 0.4;
    trajectory.rating = random_.Bernoulli(share) ? 0.9F : 0.2F;
    return trajectory;
  }

 private:
  Random random_;
  bool changed_ = false;
};

}  // namespace ruvd::test
