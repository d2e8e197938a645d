// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/random.h"
#include "inference/router/router.h"

namespace ruvd::serving {

// The routes by which a node serves a request, by number. A request is served as asked unless the
// router learned that another route is better. No route changes the model or the precision: a node
// loads one model, whose weights are packed in one precision for all completions, because
// completions share forwards, keys and values.
inline constexpr size_t kRouteUnchanged = 0;
inline constexpr size_t kRouteHalfSteps = 1;  // two tokens per step
inline constexpr size_t kRouteApproximateCache =
    2;  // approximate cache of keys and values, in diffusion mode
inline constexpr size_t kRouteNoAdapters = 3;
inline constexpr size_t kNodeRoutes = 4;
// Returns the routes; their cost is left unset because it is measured.
const std::array<inference::Route, kNodeRoutes>& NodeRoutes();
// Returns the number of a route, or nullopt for an unknown name.
std::optional<size_t> NodeRouteByName(std::string_view name);

// Returns the kind for "logistic", "fastgrnn" or "cascade"; nullopt for "off" and unknown names.
std::optional<inference::ScorerKind> RouterKindByName(std::string_view name);

// The route chosen for a request, and the features that it was chosen by.
struct RoutedRequest {
  inference::RoutingDecision decision;  // its route is an index into NodeRoutes
  inference::RouteSet open;
  std::array<double, inference::kRouterFeatures> features{};
};

struct RequestRouterOptions {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  double exploration = 0.05;  // share of the requests whose route is random
  uint64_t seed = 0;
};

// Chooses how requests are served, among the routes that each request leaves open. Requests are
// served as asked until a learned router is set, except for the share that takes a random route to
// give the other routes outcomes. A choice takes microseconds. Thread-safe.
class RequestRouter {
 public:
  explicit RequestRouter(const RequestRouterOptions& options)
      : options_(options), random_(options.seed) {}

  const RequestRouterOptions& options() const { return options_; }

  // Chooses a route; `open` must contain kRouteUnchanged. A cascade without the features of a first
  // forward serves as asked, except where it explores.
  RoutedRequest Choose(const inference::RequestFeatures& facts, const inference::RouteSet& open);

  // Sets whether a share of the requests takes a random route (on at the start). It is off where no
  // learner uses the outcomes.
  void SetExploring(bool exploring);

  // Chooses by this router from now on; null: by no router. Its entries are matched to NodeRoutes
  // by name. Returns INVALID_ARGUMENT, and changes nothing, if an entry is not a route of this node
  // or if kRouteUnchanged is missing.
  absl::Status Serve(std::shared_ptr<const inference::Router> router);

 private:
  const RequestRouterOptions options_;
  Mutex mutex_;
  bool exploring_ ABSL_GUARDED_BY(mutex_) = true;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const inference::Router> router_ ABSL_GUARDED_BY(mutex_);
  // For each entry of router_, its number in NodeRoutes.
  std::array<size_t, limits::kMaxRoutes> node_routes_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace ruvd::serving
