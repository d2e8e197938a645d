// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/router/limits.h"
#include "inference/router/scorer.h"
#include "inference/router/train_scorer.h"

namespace ruvd::inference {

// What a router knows about a request before it is served, and what one forward of the small model
// adds. Token counts and shares are raw values; RouterFeatures scales them.
struct RequestFeatures {
  int prompt_tokens = 0;
  int max_tokens = 0;
  bool diffusion = false;  // decoding mode; all three false if it is not known
  bool block = false;
  bool autoregressive = false;
  bool infill = false;
  bool chat = false;
  float temperature = 0;
  float unigram_surprise = 0;    // mean -log2 frequency of the prompt's tokens
  float pattern_similarity = 0;  // cosine to the nearest pattern
  float queue_share = 0;         // share of the queue in use
  float kv_share = 0;            // share of the key-value memory in use
  float deadline_s = 0;          // 0: no deadline
  // Known after the first forward of the small model
  std::optional<float> first_entropy = std::nullopt;  // normalised entropy
  std::optional<float> first_confidence = std::nullopt;
};

inline constexpr size_t kRouterFeatures = 16;
// Index of the feature that says whether there was a first forward
inline constexpr uint32_t kFirstForwardFeature = 13;
// Index of first_confidence, for the cascade
inline constexpr uint32_t kConfidenceFeature = 15;
// Scales the facts to features of order one. A missing first forward gives an entropy of 1, a
// confidence of 0, and 0 in the feature kFirstForwardFeature.
std::array<double, kRouterFeatures> RouterFeatures(const RequestFeatures& facts);

// A way of serving a request. Empty members leave the choice unchanged.
struct Route {
  std::string name;
  double cost = 0;  // relative, e.g. seconds on one core; not negative
  std::string precision = {};
  int tokens_per_step = 0;  // tokens committed by a step on average; at most limits::kMaxRouteStep
  std::string cache = {};
  std::optional<bool> adapters = std::nullopt;
  std::string model = {};
};

struct RouterOptions {
  // What a good answer is worth in units of cost: a route is worth value * P(good) - cost.
  double value = 1;
  // Share of the requests that are served at random, so that every route gets outcomes
  double exploration = 0.05;
};

// A set of routes, by number.
using RouteSet = std::bitset<limits::kMaxRoutes>;

struct RoutingDecision {
  size_t route = 0;
  double probability = 0;  // calibrated probability that this route is good enough; 0 if unknown
  bool explored = false;
  // Probability with which this route was chosen; its outcome has the weight 1 / propensity in
  // training
  double propensity = 1;
};

// Serves a share `exploration` of the requests with a route drawn uniformly from `open`, and the
// others with `best`, which must be in `open`. Fills in the probability with which the route was
// chosen. If that route is not `best`, its probability of being good enough is unknown (0).
RoutingDecision Explore(const RoutingDecision& best, const RouteSet& open, double exploration,
                        Random& random);

// Chooses a route for each request from the costs of the routes and the probability that each is
// good enough. Routers are immutable, hence thread-safe.
class Router {
 public:
  struct Entry {
    Route route;
    std::shared_ptr<const Scorer> scorer;
    Calibration calibration;
  };

  // Returns INVALID_ARGUMENT if there are no routes or too many, a cost is negative, or a scorer
  // does not read kRouterFeatures values.
  static absl::StatusOr<Router> Create(std::vector<Entry> entries, const RouterOptions& options);

  // Returns the route in `open` that is worth most, without randomness; of two equal ones, the
  // cheaper. `open` must contain at least one of the entries.
  RoutingDecision Best(std::span<const double, kRouterFeatures> features,
                       const RouteSet& open) const;
  // Returns the best of all entries, or a random one to explore.
  RoutingDecision Choose(std::span<const double, kRouterFeatures> features, Random& random) const;
  // Returns the calibrated probability that `route` is good enough.
  double Probability(size_t route, std::span<const double, kRouterFeatures> features) const;
  const std::vector<Entry>& entries() const { return entries_; }
  const RouterOptions& options() const { return options_; }

  // Returns the routes and scorers as checksummed bytes. FastGRNN's matrices are rounded to bytes
  // with one scale each; other scorers are stored as float32. Equal routers give equal bytes.
  std::string Serialize() const;
  // Returns INVALID_ARGUMENT for bytes that Serialize could not have made.
  static absl::StatusOr<Router> Parse(std::string_view bytes, const RouterOptions& options);

 private:
  Router(std::vector<Entry> entries, const RouterOptions& options)
      : entries_(std::move(entries)), options_(options) {}

  std::vector<Entry> entries_;
  RouterOptions options_;
};

// Rounds each matrix of a scorer to 255 levels, as Serialize stores it.
void QuantizeToBytes(Scorer* scorer);

}  // namespace ruvd::inference
