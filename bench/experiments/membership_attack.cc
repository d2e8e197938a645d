// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/membership_attack.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr size_t kSamples = 2000;
constexpr size_t kTail = kSamples / 40;  // 2.5 %

std::vector<double> Resampled(std::span<const double> values, Random& random) {
  std::vector<double> drawn(values.size());
  std::ranges::generate(drawn, [&] { return values[random.Below(values.size())]; });
  return drawn;
}

void Center(std::vector<std::vector<float>>& vectors) {
  std::vector<double> mean(vectors.empty() ? 0 : vectors.front().size());
  for (const std::vector<float>& vector : vectors) {
    std::ranges::transform(mean, vector, mean.begin(), std::plus<>());
  }
  for (std::vector<float>& vector : vectors) {
    for (size_t i = 0; i < vector.size(); ++i) {
      vector[i] -= static_cast<float>(mean[i] / static_cast<double>(vectors.size()));
    }
  }
}

void Normalise(std::vector<float>& vector) {
  double squares = 0;
  for (const float value : vector) {
    squares += double{value} * value;
  }
  const auto scale = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
  for (float& value : vector) {
    value *= scale;
  }
}

}  // namespace

double Auc(std::span<const double> members, std::span<const double> others) {
  if (members.empty() || others.empty()) {
    return 0.5;
  }
  std::vector<double> sorted(others.begin(), others.end());
  std::ranges::sort(sorted);
  double won = 0;
  for (const double member : members) {
    const auto [below, above] = std::ranges::equal_range(sorted, member);
    won += static_cast<double>(below - sorted.begin()) + 0.5 * static_cast<double>(above - below);
  }
  return won / static_cast<double>(members.size()) / static_cast<double>(others.size());
}

Interval AucInterval(std::span<const double> members, std::span<const double> others,
                     uint64_t seed) {
  const double auc = Auc(members, others);
  if (std::min(members.size(), others.size()) < kMinDocuments) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return {.mean = auc, .low = -kInfinite, .high = kInfinite};
  }
  Random random(seed);
  std::vector<double> drawn(kSamples);
  std::ranges::generate(drawn,
                        [&] { return Auc(Resampled(members, random), Resampled(others, random)); });
  std::ranges::sort(drawn);
  return {.mean = auc, .low = drawn[kTail], .high = drawn[kSamples - 1 - kTail]};
}

absl::StatusOr<std::vector<std::vector<float>>> Directions(const federation::BankedValues& at,
                                                           federation::LessonTrainer& trainer,
                                                           size_t maskings, uint64_t seed) {
  const size_t values =
      std::accumulate(at.begin(), at.end(), size_t{0},
                      [](size_t sum, const std::vector<float>& bank) { return sum + bank.size(); });
  Random random(seed);
  std::vector<std::vector<float>> directions(trainer.lessons(), std::vector<float>(values));
  for (size_t lesson = 0; lesson < directions.size(); ++lesson) {
    std::vector<federation::LessonTrainer::Draw> draws;
    for (size_t i = 0; i < maskings; ++i) {
      draws.push_back({.lesson = lesson, .seed = random.Next()});
    }
    const std::vector<float*> sums(maskings, directions[lesson].data());
    RETURN_IF_ERROR(trainer.Gradients(at, draws, sums));
  }
  Center(directions);
  for (std::vector<float>& direction : directions) {
    Normalise(direction);
  }
  return directions;
}

std::vector<double> Products(std::span<const std::vector<float>> directions,
                             std::span<const double> released) {
  std::vector<double> products;
  for (const std::vector<float>& direction : directions) {
    products.push_back(std::transform_reduce(direction.begin(), direction.end(), released.begin(),
                                             0.0, std::plus<>(),
                                             [](float a, double b) { return double{a} * b; }));
  }
  return products;
}

}  // namespace ruvd::bench
