// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/outliers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "federation/daf/distances.h"

namespace ruvd::federation {
namespace {

constexpr double kFarNow = 1.4;
constexpr double kFarPast = 1.6;
constexpr double kAgainst = 0.5;
constexpr size_t kLeastKnown = 5;
// The square of noise in d values varies by sqrt(2 / d) of its expectation. What may be taken off
// is so many deviations more, and so little of a vector's square is left at least.
constexpr double kDeviations = 3;
constexpr double kLeastQuiet = 0.01;
constexpr double kLeastQuietValues = 100;
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

// By how much the square of the noise of each vector is above the lower median.
struct Excess {
  std::vector<double> expected;
  std::vector<double> most;  // with kDeviations more
  double whole = 0;          // of `expected`
};

// Returns the excess of each of `kept`; zeros for no numbers.
Excess ExcessOf(std::span<const double> noise, std::span<const size_t> kept, size_t length) {
  Excess excess{.expected = std::vector<double>(kept.size()), .most = {}};
  for (size_t i = 0; i < kept.size() && !noise.empty(); ++i) {
    excess.expected[i] = noise[kept[i]];
  }
  const double median = kept.empty() ? 0 : LowerMedian(excess.expected);
  const double varies =
      kDeviations * std::sqrt(2 / static_cast<double>(std::max<size_t>(length, 1)));
  for (double& value : excess.expected) {
    const double all = value;
    value = std::max(0.0, value - median);
    excess.most.push_back(value > 0 ? value + varies * all : 0.0);
    excess.whole += value;
  }
  return excess;
}

// Returns the lower median over the vectors without an excess, which are at least half of all: with
// it, what is left of a square is too uncertain to judge others by.
double MedianOf(std::span<const double> values, const Excess& excess) {
  std::vector<double> quiet;
  for (size_t i = 0; i < values.size(); ++i) {
    if (excess.expected[i] == 0) {
      quiet.push_back(values[i]);
    }
  }
  return quiet.empty() ? 0 : LowerMedian(std::move(quiet));
}

// Returns how far each of `kept` is from the mean of the other ones, over the lower median.
std::vector<double> Distances(const PairDistances& squares, std::span<const size_t> kept,
                              const Excess& excess) {
  const auto count = static_cast<double>(kept.size());
  const double spread = WholeOf(squares, kept) / (2 * count * count);
  std::vector<double> distances;
  for (size_t i = 0; i < kept.size(); ++i) {
    // From the mean of all; that of the others is n / (n - 1) times as far away for each of them.
    // This holds (1 - 1/n)^2 of the square of its own noise, and 1/n^2 of that of each other one.
    const double square = RowOf(squares, kept[i], kept) / count - spread;
    const double of_noise = excess.most[i] * (1 - 2 / count) + excess.whole / (count * count);
    distances.push_back(std::sqrt(std::max(0.0, square - of_noise)));
  }
  const double median = MedianOf(distances, excess);
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

// Returns a square without the excess of noise, of which some is left in any case.
double Quiet(double square, double excess, double least) {
  return std::max(square - excess, square * least);
}

// Returns the lower median of the cosines of each vector with the sum of the others, less each.
std::vector<double> Disagreements(const Products& products, std::span<const size_t> kept,
                                  const Excess& excess, size_t length) {
  const double least =
      std::max(kLeastQuiet,
               std::min(1.0, kLeastQuietValues / static_cast<double>(std::max<size_t>(length, 1))));
  const double whole = WholeOf(products, kept);
  std::vector<double> cosines;
  for (size_t i = 0; i < kept.size(); ++i) {
    const double own = products(kept[i], kept[i]);
    const double row = RowOf(products, kept[i], kept);
    const double others = whole - 2 * row + own;
    const double squares = Quiet(own, excess.expected[i], least) *
                           Quiet(others, excess.whole - excess.expected[i], least);
    cosines.push_back(squares > 0 ? (row - own) / std::sqrt(squares) : 0.0);
  }
  const double median = MedianOf(cosines, excess);
  for (double& cosine : cosines) {
    cosine = median - cosine;
  }
  return cosines;
}

// Vectors that are judged together.
class Judged {
 public:
  // `far` is by how many medians a vector may be away.
  Judged(std::span<const std::span<const float>> vectors, std::span<const double> noise, double far)
      : vectors_(vectors.begin(), vectors.end()),
        noise_(noise),
        far_(far),
        length_(vectors.empty() ? 0 : vectors.front().size()),
        squares_(vectors_),
        products_(vectors_) {}

  // Raises apart[i] to how far `kept[i]` stands apart; above 1 is too far.
  void Raise(std::span<const size_t> kept, std::vector<double>* apart) const {
    const Excess excess = ExcessOf(noise_, kept, length_);
    const std::vector<double> distances = Distances(squares_, kept, excess);
    const std::vector<double> disagreements = Disagreements(products_, kept, excess, length_);
    for (size_t i = 0; i < kept.size(); ++i) {
      (*apart)[kept[i]] =
          std::max({(*apart)[kept[i]], distances[i] / far_, disagreements[i] / kAgainst});
    }
  }
  double SquareOf(size_t i) const { return products_(i, i); }

 private:
  std::vector<std::span<const float>> vectors_;
  std::span<const double> noise_;
  double far_;
  size_t length_;
  PairDistances squares_;
  Products products_;
};

// Returns those of `kept` whose past is known.
std::vector<size_t> KnownOf(std::span<const size_t> kept,
                            std::span<const std::span<const float>> past) {
  std::vector<size_t> known;
  std::ranges::copy_if(kept, std::back_inserter(known), [&](size_t i) { return !past[i].empty(); });
  return known;
}

// Returns the past with zeros for what is not known, so that all vectors have equal length.
std::vector<std::span<const float>> Filled(std::span<const std::span<const float>> past,
                                           std::span<const float> zeros) {
  std::vector<std::span<const float>> filled(past.begin(), past.end());
  std::ranges::replace_if(filled, [](const auto& vector) { return vector.empty(); }, zeros);
  return filled;
}

size_t LongestOf(std::span<const std::span<const float>> vectors) {
  size_t longest = 0;
  for (const auto& vector : vectors) {
    longest = std::max(longest, vector.size());
  }
  return longest;
}

}  // namespace

std::vector<size_t> Outliers(const NoisyVectors& now, const NoisyVectors& past, size_t most) {
  const size_t count = now.vectors.size();
  const Judged of_now(now.vectors, now.noise, kFarNow);
  const std::vector<float> zeros(LongestOf(past.vectors));
  std::optional<Judged> of_past;
  if (!zeros.empty()) {
    of_past.emplace(Filled(past.vectors, zeros), past.noise, kFarPast);
  }
  std::vector<size_t> kept;
  std::vector<size_t> outliers;
  for (size_t i = 0; i < count; ++i) {
    const double square = std::max(of_now.SquareOf(i), of_past ? of_past->SquareOf(i) : 0.0);
    (!(square <= kLargestSquare) && outliers.size() < most ? outliers : kept).push_back(i);
  }
  while (outliers.size() < most) {
    std::vector<double> apart(count);
    of_now.Raise(kept, &apart);
    if (const auto known = of_past ? KnownOf(kept, past.vectors) : std::vector<size_t>();
        known.size() >= kLeastKnown) {
      of_past->Raise(known, &apart);
    }
    const auto worst = std::ranges::max_element(kept, {}, [&](size_t i) { return apart[i]; });
    if (worst == kept.end() || !(apart[*worst] > 1)) {
      break;
    }
    outliers.push_back(*worst);
    kept.erase(worst);
  }
  return outliers;
}

}  // namespace ruvd::federation
