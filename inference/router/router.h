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

// What a router may know of a request before it is served, and what one forward of the small model
// adds. Numbers of tokens and shares as they are; RouterFeatures scales them.
struct RequestFacts {
  int prompt_tokens = 0;
  int max_tokens = 0;
  bool diffusion = false;  // decoding mode; none of the three where it is not known
  bool block = false;
  bool autoregressive = false;
  bool infill = false;
  bool chat = false;
  float temperature = 0;
  float unigram_surprise = 0;    // mean -log2 frequency of the prompt's tokens
  float pattern_similarity = 0;  // cosine to the nearest pattern
  float queue_share = 0;         // of the queue in use
  float kv_share = 0;            // of the memory of keys and values in use
  float deadline_s = 0;          // 0: none
  // After the first forward of the small model.
  std::optional<float> first_entropy = std::nullopt;  // normalised
  std::optional<float> first_confidence = std::nullopt;
};

inline constexpr size_t kRouterFeatures = 16;
// Index of whether there was a first forward.
inline constexpr uint32_t kFirstForwardFeature = 13;
// Index of first_confidence, for the cascade.
inline constexpr uint32_t kConfidenceFeature = 15;
// All of order one. A missing first forward is an entropy of 1 and a confidence of 0, and a feature
// of its own.
std::array<double, kRouterFeatures> RouterFeatures(const RequestFacts& facts);

// A way of serving a request. Empty members leave the choice as it was.
struct Route {
  std::string name;
  double cost = 0;  // relative, e.g. seconds of one core; not negative
  std::string precision = {};
  int tokens_per_step = 0;  // committed by a step on average; at most limits::kMaxRouteStep
  std::string cache = {};
  std::optional<bool> adapters = std::nullopt;
  std::string model = {};
};

struct RouterOptions {
  // What a good answer is worth in units of cost: a way is worth value * P(good) - cost.
  double value = 1;
  // Share of the requests that are served at random, so that other ways get outcomes, too.
  double exploration = 0.05;
};

// Ways of serving a request, by number.
using RouteSet = std::bitset<limits::kMaxRoutes>;

struct RoutingDecision {
  size_t route = 0;
  double probability = 0;  // calibrated, that this way is good enough; 0 where nobody knows
  bool explored = false;
  // Probability with which this way was chosen: 1 / propensity is its outcome's weight in training.
  double propensity = 1;
};

// Serves a share `exploration` of the requests at random, all ways of `open` alike, and the others
// as `best` says, which is one of `open`. Says with which probability the way was chosen; where it
// is another than `best`, how good it is is not known.
RoutingDecision Explore(const RoutingDecision& best, const RouteSet& open, double exploration,
                        Random& random);

// Chooses among ways of serving requests by what they cost and how likely each is good enough.
// Immutable: thread-safe.
class Router {
 public:
  struct Entry {
    Route route;
    std::shared_ptr<const Scorer> scorer;
    Calibration calibration;
  };

  // INVALID_ARGUMENT for no route or too many, a negative cost, scorers that read other than
  // kRouterFeatures values.
  static absl::StatusOr<Router> Create(std::vector<Entry> entries, const RouterOptions& options);

  // The way among those of `open` that is worth most, without chance; the cheaper of two alike.
  // `open` has one of the entries' at least.
  RoutingDecision Best(std::span<const double, kRouterFeatures> features,
                       const RouteSet& open) const;
  // That, or another one at random, of all entries.
  RoutingDecision Choose(std::span<const double, kRouterFeatures> features, Random& random) const;
  // Calibrated, that the way `route` is good enough.
  double Probability(size_t route, std::span<const double, kRouterFeatures> features) const;
  const std::vector<Entry>& entries() const { return entries_; }
  const RouterOptions& options() const { return options_; }

  // The routes and scorers as checksummed bytes; matrices of FastGRNN are rounded to bytes with one
  // scale each, the other scorers are stored as float32. Equal routers give equal bytes.
  std::string Serialize() const;
  // INVALID_ARGUMENT for anything that Serialize does not make.
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
