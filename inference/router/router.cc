// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/router.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/limits.h"

namespace ruvd::inference {
namespace {

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a router cannot be used: it has {}; train it again", what);
}

// Returns log2(1 + x) of a count, divided by ten so that a count of a thousand gives about one.
double LogCount(double x) {
  constexpr double kBitsOfAThousand = 10;
  return std::log2(1 + std::max(0.0, x)) / kBitsOfAThousand;
}

}  // namespace

std::array<double, kRouterFeatures> RouterFeatures(const RequestFeatures& facts) {
  // log2 of a vocabulary of 8192: the surprise if all tokens are equally likely
  constexpr double kBitsOfAToken = 13;
  const auto flag = [](bool value) { return value ? 1.0 : 0.0; };
  return {LogCount(facts.prompt_tokens),
          LogCount(facts.max_tokens),
          flag(facts.diffusion),
          flag(facts.block),
          flag(facts.autoregressive),
          flag(facts.infill),
          flag(facts.chat),
          facts.temperature,
          facts.unigram_surprise / kBitsOfAToken,
          facts.pattern_similarity,
          facts.queue_share,
          facts.kv_share,
          LogCount(facts.deadline_s),
          flag(facts.first_entropy.has_value()),
          facts.first_entropy.value_or(1),
          facts.first_confidence.value_or(0)};
}

absl::StatusOr<Router> Router::Create(std::vector<Entry> entries, const RouterOptions& options) {
  if (entries.empty() || entries.size() > limits::kMaxRoutes) {
    return Invalid("no route or too many");
  }
  if (!(options.exploration >= 0 && options.exploration <= 1) || !std::isfinite(options.value)) {
    return Invalid("an exploration outside 0 to 1, or a value that is not a number");
  }
  for (const Entry& entry : entries) {
    if (!(entry.route.cost >= 0) || !std::isfinite(entry.route.cost)) {
      return Invalid("a route of negative cost");
    }
    if (entry.scorer == nullptr || entry.scorer->shape().inputs != kRouterFeatures) {
      return Invalid("a route without a scorer, or a scorer of other features");
    }
  }
  return Router(std::move(entries), options);
}

RoutingDecision Explore(const RoutingDecision& best, const RouteSet& open, double exploration,
                        Random& random) {
  const size_t count = open.count();
  const double at_random = exploration / static_cast<double>(count);
  RoutingDecision decision = best;
  decision.propensity = 1 - exploration + at_random;
  if (!random.Bernoulli(exploration)) {
    return decision;
  }
  decision.explored = true;
  size_t left = random.Below(count);
  size_t drawn = 0;
  while (!open[drawn] || left-- > 0) {
    ++drawn;
  }
  if (drawn != best.route) {
    decision.route = drawn;
    decision.propensity = at_random;
    decision.probability = 0;
  }
  return decision;
}

double Router::Probability(size_t route, std::span<const double, kRouterFeatures> features) const {
  const Entry& entry = entries_[route];
  return entry.calibration.Probability(entry.scorer->Logit(features));
}

RoutingDecision Router::Best(std::span<const double, kRouterFeatures> features,
                             const RouteSet& open) const {
  RoutingDecision best;
  double most = 0;
  bool any = false;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!open[i]) {
      continue;
    }
    const double cost = entries_[i].route.cost;
    const double probability = Probability(i, features);
    const double worth = options_.value * probability - cost;
    if (!any || worth > most || (worth == most && cost < entries_[best.route].route.cost)) {
      best.route = i;
      best.probability = probability;
      most = worth;
      any = true;
    }
  }
  return best;
}

RoutingDecision Router::Choose(std::span<const double, kRouterFeatures> features,
                               Random& random) const {
  RouteSet all;
  for (size_t i = 0; i < entries_.size(); ++i) {
    all.set(i);
  }
  const RoutingDecision best = Best(features, all);
  RoutingDecision decision = Explore(best, all, options_.exploration, random);
  if (decision.route != best.route) {
    decision.probability = Probability(decision.route, features);
  }
  return decision;
}

}  // namespace ruvd::inference
