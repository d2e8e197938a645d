// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tries to refute the privacy that a release of centroids claims, as dp_falsification_test does for
// updates: it looks at everything that the passes publish, along the direction in which one example
// moves them. The test must also catch groups that the data itself makes, half the noise, and an
// account of one pass for two.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "privacy/dp/analytic_gaussian.h"
#include "privacy/dp/noised_centroids.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

constexpr size_t kRepeats = 4'000;
constexpr double kClaimedMultiplier = 1;
// A false alarm needs one of some hundred half lines to be this many standard errors off.
constexpr double kErrors = 5;

using Examples = std::vector<std::vector<float>>;
// A statistic of the data set with or without the one record.
using Statistic = std::function<double(bool with, const RandomBytes& random)>;

std::vector<double> Sorted(const Statistic& statistic, bool with, uint64_t seed) {
  Random random(seed);
  const RandomBytes bytes = [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
  std::vector<double> outputs(kRepeats);
  for (double& output : outputs) {
    output = statistic(with, bytes);
  }
  std::ranges::sort(outputs);
  return outputs;
}

double Above(const std::vector<double>& sorted, double threshold) {
  return static_cast<double>(sorted.end() - std::ranges::lower_bound(sorted, threshold)) /
         static_cast<double>(sorted.size());
}

// Returns by how many standard errors the worst half line, of either data set over the other,
// breaks the claim.
double Violation(const Statistic& statistic) {
  const std::vector<double> with = Sorted(statistic, true, 11);
  const std::vector<double> without = Sorted(statistic, false, 22);
  constexpr auto kSamples = static_cast<double>(kRepeats);
  double worst = -1e9;
  for (const double epsilon : {0.0, 0.5, 1.0, 2.0}) {
    const double delta = GaussianDelta(kClaimedMultiplier, epsilon).value();
    const double factor = std::exp(epsilon);
    for (size_t i = kRepeats / 40; i < kRepeats; i += kRepeats / 40) {
      const double p = Above(with, with[i]);
      const double q = Above(without, with[i]);
      for (const auto& [a, b] :
           {std::pair(p, q), std::pair(1 - p, 1 - q), std::pair(q, p), std::pair(1 - q, 1 - p)}) {
        const double error =
            std::sqrt((a * (1 - a) + factor * factor * b * (1 - b)) / kSamples) + 1 / kSamples;
        worst = std::max(worst, (a - factor * b - delta) / error);
      }
    }
  }
  return worst;
}

// The examples have two values; half of the centres are to the right, half to the left.
Examples Anchors() {
  Examples anchors(limits::kCentroidCells, {-1, 0});
  std::fill_n(anchors.begin(), limits::kCentroidCells / 2, std::vector<float>{1, 0});
  return anchors;
}

Examples Records(bool with) {
  Examples examples = {{-1, 0.2F}};
  if (with) {
    examples.push_back({3, 0});  // scaled to length 1
  }
  return examples;
}

// Returns the cell that the record goes to in the pass after this one, which every reader of the
// release can tell.
size_t NextCell(const NoisedSums& sums) {
  size_t next = 0;
  double best = -2;
  for (size_t cell = 0; cell < sums.size(); ++cell) {
    const auto x = static_cast<double>(sums[cell][0]);
    const double along = x / std::hypot(x, static_cast<double>(sums[cell][1]));
    if (along > best) {
      best = along;
      next = cell;
    }
  }
  return next;
}

// Returns how far the passes together lie in the direction of the record, at the place where it
// would be. `centres` decides where an example belongs, from all examples.
Statistic AlongTheRecord(const CentroidTerms& terms,
                         const std::function<Examples(const Examples&)>& centres, Examples common) {
  const DiscreteGaussian noise = DiscreteGaussian::Create(terms.grid.sigma_units).value();
  return [=](bool with, const RandomBytes& random) {
    Examples examples = Records(with);
    examples.insert(examples.end(), common.begin(), common.end());
    const std::vector<std::span<const float>> views(examples.begin(), examples.end());
    double along = 0;
    size_t cell = 0;  // if all centres are on one side, the first takes everything
    const auto passes = RunNoisedPasses(views, centres(examples), terms, noise, random).value();
    for (const NoisedSums& pass : passes) {
      along += std::ldexp(static_cast<double>(pass[cell][0]), terms.grid.exponent);
      cell = NextCell(pass);
    }
    return along;
  };
}

Examples Public(const Examples&) {
  return Anchors();
}

// Where an example belongs depends on how many there are: with one more, the others move.
Examples OfTheData(const Examples& examples) {
  Examples anchors = Anchors();
  if (examples.size() % 2 == 0) {
    std::ranges::reverse(anchors);
  }
  return anchors;
}

TEST(CentroidFalsification, ThePassesKeepTheirClaim) {
  const CentroidTerms terms = MakeCentroidTerms(kClaimedMultiplier, 2, 10).value();
  EXPECT_LT(Violation(AlongTheRecord(terms, Public, {})), kErrors);
}

TEST(CentroidFalsification, CatchesHalfTheNoise) {
  const CentroidTerms terms = MakeCentroidTerms(0.5 * kClaimedMultiplier, 2, 10).value();
  EXPECT_GT(Violation(AlongTheRecord(terms, Public, {})), kErrors);
}

// The first pass alone is within the account; two passes with such noise are not.
TEST(CentroidFalsification, CatchesPassesThatArePaidForAsOne) {
  CentroidTerms terms = MakeCentroidTerms(kClaimedMultiplier, 2, 10).value();
  terms.grid = MakeNoiseGrid(1, kClaimedMultiplier, 2).value();
  EXPECT_GT(Violation(AlongTheRecord(terms, Public, {})), kErrors);
}

// This is why stored patterns must not be the groups of a release: one more lesson would move
// others.
TEST(CentroidFalsification, CatchesGroupsThatTheDataMakes) {
  const CentroidTerms terms = MakeCentroidTerms(kClaimedMultiplier, 2, 10).value();
  EXPECT_GT(Violation(AlongTheRecord(terms, OfTheData, Examples(6, {1, 0}))), kErrors);
}

}  // namespace
}  // namespace ruvd::privacy::dp
