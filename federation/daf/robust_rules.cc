// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/robust_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "federation/daf/distances.h"
#include "federation/daf/outliers.h"
#include "federation/daf/sorted_coordinates.h"
#include "federation/daf/vector_kernels.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

constexpr size_t kLeastForMajority = 5;

void AddScaled(std::span<const float> x, double scale, std::span<float> out) {
  ruvd::federation::AddScaled(x.data(), static_cast<float>(scale), out.data(), out.size());
}

// A part of the result that stays in the first-level cache while all updates are added to it.
constexpr size_t kSumBlock = 4096;

// Sets out to the sum over updates of scale * update; updates of scale 0 are not read.
void SumScaled(std::span<const std::span<const float>> updates, std::span<const double> scales,
               std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  for (size_t begin = 0; begin < out.size(); begin += kSumBlock) {
    const size_t count = std::min(kSumBlock, out.size() - begin);
    for (size_t i = 0; i < updates.size(); ++i) {
      if (scales[i] != 0) {
        AddScaled(updates[i].subspan(begin, count), scales[i], out.subspan(begin, count));
      }
    }
  }
}

void WeightedMean(const RuleInput& input, std::span<const size_t> which, std::span<float> out) {
  double sum = 0;
  for (const size_t i : which) {
    sum += input.WeightOf(i);
  }
  std::vector<double> scales(input.updates.size());
  for (const size_t i : which) {
    scales[i] = sum > 0 ? input.WeightOf(i) / sum : 1.0 / double(which.size());
  }
  SumScaled(input.updates, scales, out);
}

std::vector<size_t> AllOf(const RuleInput& input) {
  std::vector<size_t> all(input.updates.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

bool EqualWeights(const RuleInput& input) {
  return input.weights.empty() ||
         std::ranges::all_of(input.weights, [&](double w) { return w == input.weights.front(); });
}

double ClipScale(double norm, double limit) {
  return norm > limit ? limit / norm : 1.0;
}

void ClippedMean(const RuleInput& input, double clip_norm, std::span<float> out) {
  double sum = 0;
  for (size_t i = 0; i < input.updates.size(); ++i) {
    sum += input.WeightOf(i);
  }
  std::vector<double> mean(out.size(), 0.0);
  for (size_t i = 0; i < input.updates.size(); ++i) {
    const auto& update = input.updates[i];
    double square = 0;
    for (const float v : update) {
      square += double{v} * v;
    }
    const double scale = ClipScale(std::sqrt(square), clip_norm) * input.WeightOf(i) / sum;
    for (size_t j = 0; j < out.size(); ++j) {
      mean[j] += scale * double{update[j]};
    }
  }
  std::ranges::transform(mean, out.begin(), [](double v) { return static_cast<float>(v); });
}

enum class Middle : uint8_t { kTrimmedMean, kMedian };

// Computes the middle (trimmed mean or median) of every coordinate. The rows of a block of
// coordinates come from `fill`.
class CoordinateMiddle {
 public:
  // kTrimmedMean drops `trim` rows at each end. It counts rows, not weights, because a liar decides
  // how fresh its update is, and so how much it weighs. kMedian does not read `trim`.
  CoordinateMiddle(const RuleInput& input, Middle middle, size_t trim)
      : input_(input),
        middle_(middle),
        // One value remains, or two if the number is even.
        trim_(middle == Middle::kMedian ? (input.updates.size() - 1) / 2 : trim),
        equal_(EqualWeights(input)),
        network_(input.updates.size()),
        rows_(input.updates.size()) {}

  template <typename Fill>
  void Run(const Fill& fill, std::span<float> out) {
    for (size_t begin = 0; begin < out.size(); begin += kCoordinateBlock) {
      const size_t count = std::min(kCoordinateBlock, out.size() - begin);
      for (size_t i = 0; i < rows_.size(); ++i) {
        fill(i, begin, count, rows_[i]);
      }
      if (equal_) {
        EqualBlock(out.subspan(begin, count));
      } else {
        WeightedBlock(out.subspan(begin, count));
      }
    }
  }

 private:
  void EqualBlock(std::span<float> out) {
    network_.Sort(rows_);
    const size_t last = rows_.size() - trim_;
    CoordinateRow sum = rows_[trim_];
    for (size_t row = trim_ + 1; row < last; ++row) {
      AddScaled(rows_[row], 1, sum);
    }
    const auto kept = static_cast<float>(last - trim_);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = sum[i] / kept;
    }
  }

  void WeightedBlock(std::span<float> out) {
    const size_t n = rows_.size();
    values_.resize(n);
    for (size_t i = 0; i < out.size(); ++i) {
      for (size_t row = 0; row < n; ++row) {
        values_[row] = rows_[row][i];
      }
      out[i] = middle_ == Middle::kMedian
                   ? WeightedMedian(values_, input_.weights, order_)
                   : WeightedTrimmedMean(values_, input_.weights, trim_, order_);
    }
  }

  const RuleInput& input_;
  Middle middle_;
  size_t trim_;
  bool equal_;
  SortingNetwork network_;
  std::vector<CoordinateRow> rows_;
  std::vector<float> values_;
  std::vector<size_t> order_;
};

void CombineCoordinates(const RuleInput& input, Middle middle, size_t trim, std::span<float> out) {
  CoordinateMiddle(input, middle, trim)
      .Run(
          [&](size_t i, size_t begin, size_t count, CoordinateRow& row) {
            std::ranges::copy(input.updates[i].subspan(begin, count), row.begin());
          },
          out);
}

}  // namespace

size_t ToleratedFaults(size_t count, double share) {
  if (count < 3) {
    return 0;
  }
  // 0.3 of 10 must give 3 despite rounding.
  const double exact = share * static_cast<double>(count) + 1e-9;
  return std::clamp<size_t>(static_cast<size_t>(std::max(0.0, exact)), 1, (count - 1) / 2);
}

void MeanRule::Combine(const RuleInput& input, std::span<float> out) const {
  WeightedMean(input, AllOf(input), out);
}

void MedianRule::Combine(const RuleInput& input, std::span<float> out) const {
  CombineCoordinates(input, Middle::kMedian, 0, out);
}

void TrimmedMean::Combine(const RuleInput& input, std::span<float> out) const {
  const size_t n = input.updates.size();
  if (n < 3) {
    ClippedMean(input, clip_norm_, out);
    return;
  }
  CombineCoordinates(input, Middle::kTrimmedMean, ToleratedFaults(n, trim_), out);
}

std::vector<size_t> MultiKrumRule::Select(const RuleInput& input) const {
  const size_t n = input.updates.size();
  if (n < kLeastForMajority) {
    return AllOf(input);  // SelfClipRule reads all of them
  }
  const size_t faulty = std::min(ToleratedFaults(n, faulty_), (n - 3) / 2);
  const size_t kept = n - faulty - 2;
  const PairDistances distances(input.updates);
  std::vector<double> scores(n);
  for (size_t i = 0; i < n; ++i) {
    for (const size_t j : distances.Nearest(i, kept + 1)) {
      scores[i] += distances(i, j);
    }
  }
  std::vector<size_t> order = AllOf(input);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  order.resize(kept);
  std::ranges::sort(order);
  return order;
}

void MultiKrumRule::Combine(const RuleInput& input, std::span<float> out) const {
  if (input.updates.size() < kLeastForMajority) {
    SelfClipRule().Combine(input, out);
    return;
  }
  WeightedMean(input, Select(input), out);
}

void GeometricMedianRule::Combine(const RuleInput& input, std::span<float> out) const {
  const size_t n = input.updates.size();
  std::vector<double> norms;
  for (const auto& update : input.updates) {
    norms.push_back(std::sqrt(SquaredNorm(update)));
  }
  const double limit = LowerMedian(norms);
  std::vector<double> weights(n);
  for (size_t i = 0; i < n; ++i) {
    weights[i] = input.WeightOf(i);
  }
  // smaller than any meaningful distance, and above 0 even if updates coincide
  const double smoothing = 1e-6 * limit + 1e-12;
  std::vector<double> shares = weights;
  for (int iteration = 0; iteration <= iterations_; ++iteration) {
    if (iteration > 0) {
      for (size_t i = 0; i < n; ++i) {
        shares[i] =
            weights[i] / std::max(smoothing, std::sqrt(SquaredDistance(input.updates[i], out)));
      }
    }
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (size_t i = 0; i < n; ++i) {
      shares[i] *= (iteration == 0 ? ClipScale(norms[i], limit) : 1.0) / sum;
    }
    std::vector<float> next(out.size());
    SumScaled(input.updates, shares, next);
    const bool settled = iteration > 0 && SquaredDistance(next, out) <= 1e-12 * limit * limit;
    std::ranges::copy(next, out.begin());
    if (settled) {
      break;
    }
  }
}

void NearestNeighbourRule::Combine(const RuleInput& input, std::span<float> out) const {
  const size_t n = input.updates.size();
  if (n < kLeastForMajority) {
    SelfClipRule().Combine(input, out);
    return;
  }
  const size_t faulty = ToleratedFaults(n, faulty_);
  const PairDistances distances(input.updates);
  std::vector<std::vector<size_t>> nearest;
  std::vector<double> sums;
  for (size_t i = 0; i < n; ++i) {
    nearest.push_back(distances.Nearest(i, n - faulty));
    double& sum = sums.emplace_back(0.0);
    for (const size_t j : nearest.back()) {
      sum += input.WeightOf(j);
    }
  }
  CoordinateMiddle middle(input, Middle::kTrimmedMean, faulty);
  middle.Run(
      [&](size_t i, size_t begin, size_t count, CoordinateRow& row) {
        row.fill(0.0F);
        for (const size_t j : nearest[i]) {
          const double share =
              sums[i] > 0 ? input.WeightOf(j) / sums[i] : 1.0 / double(nearest[i].size());
          AddScaled(input.updates[j].subspan(begin, count), share, std::span(row).first(count));
        }
      },
      out);
}

std::vector<size_t> FilteredMeanRule::LeftOut(const RuleInput& input) const {
  const size_t n = input.updates.size();
  if (n < kLeastForMajority) {
    return {};
  }
  return Outliers({.vectors = input.updates, .noise = input.noise},
                  {.vectors = input.past, .noise = input.past_noise}, ToleratedFaults(n, faulty_));
}

void FilteredMeanRule::Combine(const RuleInput& input, std::span<float> out) const {
  if (input.updates.size() < kLeastForMajority) {
    SelfClipRule().Combine(input, out);
    return;
  }
  std::vector<size_t> kept = AllOf(input);
  const std::vector<size_t> left_out =
      input.left_out ? std::vector<size_t>(input.left_out->begin(), input.left_out->end())
                     : LeftOut(input);
  for (const size_t outlier : left_out) {
    std::erase(kept, outlier);
  }
  WeightedMean(input, kept, out);
}

void SelfClipRule::Combine(const RuleInput& input, std::span<float> out) const {
  std::vector<float> centre(out.size());
  if (input.own) {
    std::ranges::copy(input.updates[*input.own], centre.begin());
  }
  const size_t n = input.updates.size();
  std::vector<double> distances(n);
  std::vector<double> of_peers;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += input.WeightOf(i);
    if (i != input.own) {
      distances[i] = std::sqrt(SquaredDistance(input.updates[i], centre));
      of_peers.push_back(distances[i]);
    }
  }
  double radius = of_peers.empty() ? 0 : LowerMedian(std::move(of_peers));
  if (const double own = std::sqrt(SquaredNorm(centre)); own > 0) {
    radius = std::min(radius, 2 * own);
  }
  std::ranges::copy(centre, out.begin());
  for (size_t begin = 0; begin < out.size(); begin += kSumBlock) {
    const size_t count = std::min(kSumBlock, out.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      const double scale = ClipScale(distances[i], radius) * input.WeightOf(i) / sum;
      if (i != input.own && scale > 0) {
        AddScaledDifference(input.updates[i].data() + begin, centre.data() + begin,
                            static_cast<float>(scale), out.data() + begin, count);
      }
    }
  }
}

const AggregationRule& DefaultRule() {
  static const FilteredMeanRule rule;
  return rule;
}

std::unique_ptr<const AggregationRule> RuleByName(std::string_view name, double faulty) {
  std::unique_ptr<const AggregationRule> rules[] = {std::make_unique<MeanRule>(),
                                                    std::make_unique<MedianRule>(),
                                                    std::make_unique<TrimmedMean>(faulty),
                                                    std::make_unique<MultiKrumRule>(faulty),
                                                    std::make_unique<GeometricMedianRule>(),
                                                    std::make_unique<NearestNeighbourRule>(faulty),
                                                    std::make_unique<FilteredMeanRule>(faulty),
                                                    std::make_unique<SelfClipRule>()};
  const std::string_view wanted = name == "default" ? DefaultRule().name() : name;
  for (auto& rule : rules) {
    if (rule->name() == wanted) {
      return std::move(rule);
    }
  }
  return nullptr;
}

}  // namespace ruvd::federation
