// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/request_router.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::serving {
namespace {

// Returns the numbers in NodeRoutes of a router's entries.
absl::StatusOr<std::array<size_t, limits::kMaxRoutes>> NumbersOf(const inference::Router& router) {
  std::array<size_t, limits::kMaxRoutes> numbers{};
  bool as_asked = false;
  for (size_t i = 0; i < router.entries().size(); ++i) {
    const std::string& name = router.entries()[i].route.name;
    const std::optional<size_t> number = NodeRouteByName(name);
    if (!number) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the router chooses the route '{}', which this node does not know; train it "
                   "again",
                   name);
    }
    numbers.at(i) = *number;
    as_asked = as_asked || *number == kRouteUnchanged;
  }
  if (!as_asked) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the router has no estimate for requests served as asked ('as_asked'); train it "
                 "again");
  }
  return numbers;
}

}  // namespace

const std::array<inference::Route, kNodeRoutes>& NodeRoutes() {
  static const auto* const routes = new std::array<inference::Route, kNodeRoutes>{
      inference::Route{.name = "as_asked"},
      inference::Route{.name = "half_steps", .tokens_per_step = 2},
      inference::Route{.name = "approximate_cache", .cache = "approximate"},
      inference::Route{.name = "no_adapters", .adapters = false}};
  return *routes;
}

std::optional<size_t> NodeRouteByName(std::string_view name) {
  for (size_t i = 0; i < kNodeRoutes; ++i) {
    if (NodeRoutes().at(i).name == name) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<inference::ScorerKind> RouterKindByName(std::string_view name) {
  for (const inference::ScorerKind kind :
       {inference::ScorerKind::kLogistic, inference::ScorerKind::kFastGrnn,
        inference::ScorerKind::kCascade}) {
    if (name == inference::ScorerName(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

RoutedRequest RequestRouter::Choose(const inference::RequestFeatures& facts,
                                    const inference::RouteSet& open) {
  RoutedRequest routed{.open = open, .features = inference::RouterFeatures(facts)};
  const MutexLock lock(mutex_);
  const bool blind = options_.kind == inference::ScorerKind::kCascade &&
                     routed.features[inference::kFirstForwardFeature] == 0;
  inference::RouteSet known;
  for (size_t i = 0; !blind && router_ != nullptr && i < router_->entries().size(); ++i) {
    known.set(i, open[node_routes_.at(i)]);
  }
  inference::RoutingDecision best{.route = kRouteUnchanged};
  if (known.any()) {
    best = router_->Best(routed.features, known);
    best.route = node_routes_.at(best.route);
  }
  routed.decision = inference::Explore(best, open, exploring_ ? options_.exploration : 0, random_);
  return routed;
}

void RequestRouter::SetExploring(bool exploring) {
  const MutexLock lock(mutex_);
  exploring_ = exploring;
}

absl::Status RequestRouter::Serve(std::shared_ptr<const inference::Router> router) {
  std::array<size_t, limits::kMaxRoutes> numbers{};
  if (router != nullptr) {
    ASSIGN_OR_RETURN(numbers, NumbersOf(*router));
  }
  const MutexLock lock(mutex_);
  router_ = std::move(router);
  node_routes_ = numbers;
  return absl::OkStatus();
}

}  // namespace ruvd::serving
