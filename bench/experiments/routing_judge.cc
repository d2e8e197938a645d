// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/routing_judge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr size_t kDraws = 1000;

// Mean excess nats/token of the requests that go to the small model, summed along the curve of
// shares 0..1.
struct Curve {
  double area = 0;
  double at_half = 0;
};

// Requests of lower keys go first, those of one key in any order: each counts as their mean, so
// that a router that says the same of all is one that sends them at random.
Curve CurveOf(std::span<const RoutedRequest> requests, std::span<const double> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [keys](size_t i) { return keys[i]; });
  const auto count = static_cast<double>(requests.size());
  const size_t half = (order.size() + 1) / 2;
  Curve curve;
  double sum = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double equals = 0;
    for (; end < order.size() && keys[order[end]] == keys[order[begin]]; ++end) {
      equals += requests[order[end]].excess / count;
    }
    const auto size = static_cast<double>(end - begin);
    curve.area += (sum + equals / 2) * size / count;
    if (begin < half) {
      curve.at_half = sum + equals * std::min(1.0, static_cast<double>(half - begin) / size);
    }
    sum += equals;
  }
  return curve;
}

// Adds how the requests at these places are judged.
void AddDraw(std::span<const RoutedRequest> requests, std::span<const std::vector<double>> scores,
             std::span<const size_t> places, JudgedDraws* draws) {
  std::vector<RoutedRequest> drawn;
  for (const size_t place : places) {
    drawn.push_back(requests[place]);
  }
  const auto trainings = static_cast<double>(scores.size());
  Judged mean;
  for (const std::vector<double>& own : scores) {
    std::vector<double> values;
    for (const size_t place : places) {
      values.push_back(own[place]);
    }
    const Judged judged = Judge(drawn, values);
    mean.share += judged.share / trainings;
    mean.regret += judged.regret / trainings;
    if (draws->trainings.size() < scores.size()) {  // the first draw
      draws->trainings.push_back(judged.share);
    }
  }
  draws->shares.push_back(mean.share);
  draws->regrets.push_back(mean.regret);
}

}  // namespace

Judged Judge(std::span<const RoutedRequest> requests, std::span<const double> scores) {
  std::vector<double> keys;
  std::vector<double> truth;
  for (size_t i = 0; i < requests.size(); ++i) {
    keys.push_back(-scores[i]);
    truth.push_back(requests[i].excess);
  }
  const Curve own = CurveOf(requests, keys);
  const Curve oracle = CurveOf(requests, truth);
  const double random =
      std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size()) / 2;
  return {.share = (random - own.area) / (random - oracle.area),
          .regret = own.at_half - oracle.at_half};
}

JudgedDraws JudgeTrainings(std::span<const RoutedRequest> requests,
                           std::span<const std::vector<double>> scores) {
  RUVD_CHECK(!requests.empty() && !scores.empty());
  std::map<size_t, std::vector<size_t>> by_document;
  std::vector<size_t> all(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    by_document[requests[i].document].push_back(i);
    all[i] = i;
  }
  std::vector<std::vector<size_t>> documents;
  documents.reserve(by_document.size());
  for (const auto& [document, own] : by_document) {
    documents.push_back(own);
  }
  JudgedDraws draws;
  AddDraw(requests, scores, all, &draws);
  Random random(1);
  for (size_t draw = 0; draw < kDraws && documents.size() >= kMinDocuments; ++draw) {
    std::vector<size_t> places;
    for (size_t i = 0; i < documents.size(); ++i) {
      const std::vector<size_t>& own = documents[random.Below(documents.size())];
      places.insert(places.end(), own.begin(), own.end());
    }
    AddDraw(requests, scores, places, &draws);
  }
  return draws;
}

Interval IntervalOf(std::span<const double> draws) {
  RUVD_CHECK(!draws.empty());
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (draws.size() == 1) {
    return {.mean = draws.front(), .low = -kInfinite, .high = kInfinite};
  }
  std::vector<double> values(draws.begin() + 1, draws.end());
  std::ranges::sort(values);
  const size_t tail = values.size() / 40;  // 2.5 %
  return {.mean = draws.front(), .low = values[tail], .high = values[values.size() - 1 - tail]};
}

Interval DifferenceOf(std::span<const double> draws, std::span<const double> others) {
  RUVD_CHECK(draws.size() == others.size());
  std::vector<double> differences(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    differences[i] = draws[i] - others[i];
  }
  return IntervalOf(differences);
}

DocumentSplit HoldBackDocuments(std::span<const size_t> documents, Random& random) {
  const std::set<size_t> all(documents.begin(), documents.end());
  std::vector<size_t> order(all.begin(), all.end());
  random.Shuffle(std::span(order));
  const size_t count = order.size() < 2 ? 0 : std::max<size_t>(1, order.size() / 5);
  const std::set<size_t> held_back(order.begin(),
                                   order.begin() + static_cast<std::ptrdiff_t>(count));
  DocumentSplit split;
  for (size_t i = 0; i < documents.size(); ++i) {
    (held_back.contains(documents[i]) ? split.held_back : split.taught).push_back(i);
  }
  return split;
}

}  // namespace ruvd::bench
