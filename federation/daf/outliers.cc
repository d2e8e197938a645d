// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/outliers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "federation/daf/distances.h"

namespace ruvd::federation {
namespace {

constexpr double kFarNow = 1.4;
constexpr double kFarPast = 1.6;
constexpr double kAgainst = 0.5;
// Vectors with larger squares stand apart, because their distances may overflow. No contribution
// has such a one (kMaxContributionNorm).
constexpr double kLargestSquare = 1e30;

// Returns the sum over `kept` of one row of an n x n table.
template <typename Table>
double RowOf(const Table& table, size_t i, std::span<const size_t> kept) {
  double sum = 0;
  for (const size_t j : kept) {
    sum += table(i, j);
  }
  return sum;
}

template <typename Table>
double WholeOf(const Table& table, std::span<const size_t> kept) {
  double sum = 0;
  for (const size_t i : kept) {
    sum += RowOf(table, i, kept);
  }
  return sum;
}

// Returns how far each of `kept` is from the mean of the other ones, over the lower median.
std::vector<double> Distances(const PairDistances& squares, std::span<const size_t> kept) {
  const auto count = static_cast<double>(kept.size());
  const double spread = WholeOf(squares, kept) / (2 * count * count);
  std::vector<double> distances;
  for (const size_t i : kept) {
    // From the mean of all; that of the others is n / (n - 1) times as far away for each of them.
    const double square = RowOf(squares, i, kept) / count - spread;
    distances.push_back(std::sqrt(std::max(0.0, square)));
  }
  const double median = LowerMedian(distances);
  for (double& distance : distances) {
    if (distance > 0) {
      distance = median > 0 ? distance / median : std::numeric_limits<double>::infinity();
    }
  }
  return distances;
}

// The scalar products of n vectors.
class Products {
 public:
  explicit Products(std::span<const std::span<const float>> vectors)
      : count_(vectors.size()), products_(count_ * count_) {
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        products_[i * count_ + j] = products_[j * count_ + i] = Dot(vectors[i], vectors[j]);
      }
    }
  }
  double operator()(size_t i, size_t j) const { return products_[i * count_ + j]; }

 private:
  size_t count_;
  std::vector<double> products_;
};

// Returns the lower median of the cosines of each vector with the sum of the others, less each.
std::vector<double> Disagreements(const Products& products, std::span<const size_t> kept) {
  const double whole = WholeOf(products, kept);
  std::vector<double> cosines;
  for (const size_t i : kept) {
    const double own = products(i, i);
    const double row = RowOf(products, i, kept);
    const double squares = own * (whole - 2 * row + own);
    cosines.push_back(squares > 0 ? (row - own) / std::sqrt(squares) : 0.0);
  }
  const double median = LowerMedian(cosines);
  for (double& cosine : cosines) {
    cosine = median - cosine;
  }
  return cosines;
}

}  // namespace

std::vector<size_t> Outliers(std::span<const std::span<const float>> now,
                             std::span<const std::span<const float>> past, size_t most) {
  const PairDistances squares_now(now);
  const PairDistances squares_past(past);
  const Products products(past);
  std::vector<size_t> kept;
  std::vector<size_t> outliers;
  for (size_t i = 0; i < now.size(); ++i) {
    const bool is_huge = !(std::max(SquaredNorm(now[i]), products(i, i)) <= kLargestSquare);
    (is_huge && outliers.size() < most ? outliers : kept).push_back(i);
  }
  while (outliers.size() < most) {
    const std::vector<double> far_now = Distances(squares_now, kept);
    const std::vector<double> far_past = Distances(squares_past, kept);
    const std::vector<double> against = Disagreements(products, kept);
    double worst = 1;
    size_t which = kept.size();
    for (size_t i = 0; i < kept.size(); ++i) {
      const double apart =
          std::max({far_now[i] / kFarNow, far_past[i] / kFarPast, against[i] / kAgainst});
      if (apart > worst) {
        worst = apart;
        which = i;
      }
    }
    if (which == kept.size()) {
      break;
    }
    outliers.push_back(kept[which]);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(which));
  }
  return outliers;
}

}  // namespace ruvd::federation
