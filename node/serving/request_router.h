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

// The ways in which a node serves a request, by number. A request is served as it asked for where
// nothing else was learned. None names a model or a precision: a node loads one model, and the
// weights of one precision are packed for all completions, which share forwards, keys and values.
inline constexpr size_t kRouteAsAsked = 0;
inline constexpr size_t kRouteHalfSteps = 1;         // two tokens a step
inline constexpr size_t kRouteApproximateCache = 2;  // of keys and values, in diffusion mode
inline constexpr size_t kRouteNoAdapters = 3;
inline constexpr size_t kNodeRoutes = 4;
// They have no cost: that is measured.
const std::array<inference::Route, kNodeRoutes>& NodeRoutes();
// nullopt for a name that is none of theirs.
std::optional<size_t> NodeRouteByName(std::string_view name);

// "logistic", "fastgrnn" or "cascade"; nullopt for "off" and what is none.
std::optional<inference::ScorerKind> RouterKindByName(std::string_view name);

// What was chosen for a request, and what that was chosen by.
struct RoutedRequest {
  inference::RoutingDecision decision;  // its route is one of NodeRoutes
  inference::RouteSet open;
  std::array<double, inference::kRouterFeatures> features{};
};

struct RequestRouterOptions {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  double exploration = 0.05;  // share of the requests that are served at random
  uint64_t seed = 0;
};

// Chooses how requests are served, among the ways that each of them left open: as asked, until a
// router was learned that knows better, but for the share that is served at random so that other
// ways get outcomes. A choice takes microseconds. Thread-safe.
class RequestRouter {
 public:
  explicit RequestRouter(const RequestRouterOptions& options)
      : options_(options), random_(options.seed) {}

  const RequestRouterOptions& options() const { return options_; }

  // `open` has kRouteAsAsked. A cascade that has no first forward to go by serves as asked, but for
  // what it explores.
  RoutedRequest Choose(const inference::RequestFacts& facts, const inference::RouteSet& open);

  // Whether a share of the requests is served at random, as at the start: not where nobody learns
  // from what becomes of them.
  void SetExploring(bool exploring);

  // Chooses by this router from now on; null: by none. Its entries are some of NodeRoutes, found by
  // their names. INVALID_ARGUMENT where one is none of them, or where it does not know what serving
  // as asked is worth; then nothing changes.
  absl::Status Serve(std::shared_ptr<const inference::Router> router);

 private:
  const RequestRouterOptions options_;
  Mutex mutex_;
  bool exploring_ ABSL_GUARDED_BY(mutex_) = true;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const inference::Router> router_ ABSL_GUARDED_BY(mutex_);
  // Of each of its entries.
  std::array<size_t, limits::kMaxRoutes> node_routes_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace ruvd::serving
