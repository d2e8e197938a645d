// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

using Point = std::vector<double>;

absl::Status CheckItems(std::span<const ClusterItem> items, const ClusterOptions& options) {
  const bool bad_options = options.clusters < 1 || options.tasks < 1 ||
                           options.max_iterations < 1 || !(options.bank_weight >= 0) ||
                           !(options.task_weight >= 0);
  bool bad_item = items.empty();
  for (const ClusterItem& item : items) {
    bad_item = bad_item || item.embedding.empty() ||
               item.embedding.size() != items[0].embedding.size() || item.task < 0 ||
               item.task >= options.tasks ||
               !std::all_of(
                   item.embedding.begin(), item.embedding.end(),
                   [](float value) { return std::isfinite(value); });
  }
  if (bad_options || bad_item) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "clustering needs items with finite embeddings of one length, tasks in range and "
                 "positive options");
  }
  return absl::OkStatus();
}

Point ToPoint(const ClusterItem& item, const ClusterOptions& options) {
  Point point(item.embedding.begin(), item.embedding.end());
  const size_t banks = point.size();
  point.resize(banks + kTimestepBanks + static_cast<size_t>(options.tasks));
  point[banks + static_cast<size_t>(item.bank)] = options.bank_weight;
  point[banks + kTimestepBanks + static_cast<size_t>(item.task)] = options.task_weight;
  return point;
}

double SquaredDistance(const Point& a, const Point& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

// Draws the first centre uniformly and each next one with probability proportional to its squared
// distance from the nearest centre. Returns fewer than `clusters` if there are fewer distinct
// points.
std::vector<Point> Seed(const std::vector<Point>& points, int clusters, Random& random) {
  std::vector<Point> centres = {points[random.Below(points.size())]};
  std::vector<double> distance(points.size(), std::numeric_limits<double>::infinity());
  while (static_cast<int>(centres.size()) < clusters) {
    double total = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      distance[i] = std::min(distance[i], SquaredDistance(points[i], centres.back()));
      total += distance[i];
    }
    if (total <= 0) {
      break;
    }
    double left = random.Uniform() * total;
    size_t chosen = points.size();
    for (size_t i = 0; i < points.size() && left >= 0; ++i) {
      if (distance[i] > 0) {
        chosen = i;
        left -= distance[i];
      }
    }
    centres.push_back(points[chosen]);
  }
  return centres;
}

// Assigns every point to its nearest centre. Returns true if an assignment changed.
bool Assign(const std::vector<Point>& points, const std::vector<Point>& centres,
            Clustering* clustering) {
  bool changed = false;
  clustering->inertia = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    int best = 0;
    double best_distance = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < centres.size(); ++c) {
      const double distance = SquaredDistance(points[i], centres[c]);
      if (distance < best_distance) {
        best_distance = distance;
        best = static_cast<int>(c);
      }
    }
    changed = changed || clustering->assignment[i] != best;
    clustering->assignment[i] = best;
    clustering->inertia += best_distance;
  }
  return changed;
}

// Moves every centre to the mean of its points, and drops centres without points.
void Update(const std::vector<Point>& points, std::vector<Point>* centres, Clustering* clustering) {
  std::vector<Point> sums(centres->size(), Point(points[0].size()));
  std::vector<int> counts(centres->size());
  for (size_t i = 0; i < points.size(); ++i) {
    const auto c = static_cast<size_t>(clustering->assignment[i]);
    ++counts[c];
    for (size_t d = 0; d < points[i].size(); ++d) {
      sums[c][d] += points[i][d];
    }
  }
  std::vector<int> renumbered(centres->size());
  centres->clear();
  for (size_t c = 0; c < sums.size(); ++c) {
    renumbered[c] = static_cast<int>(centres->size());
    if (counts[c] > 0) {
      for (double& value : sums[c]) {
        value /= counts[c];
      }
      centres->push_back(std::move(sums[c]));
    }
  }
  for (int& assignment : clustering->assignment) {
    assignment = renumbered[static_cast<size_t>(assignment)];
  }
}

std::vector<float> NormalisedEmbedding(const Point& centre, size_t length) {
  double squares = 0;
  for (size_t i = 0; i < length; ++i) {
    squares += centre[i] * centre[i];
  }
  const double factor = squares > 0 ? 1.0 / std::sqrt(squares) : 0.0;
  std::vector<float> embedding(length);
  for (size_t i = 0; i < length; ++i) {
    embedding[i] = static_cast<float>(centre[i] * factor);
  }
  return embedding;
}

double Inertia(const std::vector<Point>& points, const std::vector<Point>& centres,
               const Clustering& clustering) {
  double sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    sum += SquaredDistance(points[i], centres[static_cast<size_t>(clustering.assignment[i])]);
  }
  return sum;
}

}  // namespace

absl::StatusOr<Clustering> ClusterItems(std::span<const ClusterItem> items,
                                        const ClusterOptions& options, Random& random) {
  RETURN_IF_ERROR(CheckItems(items, options));
  std::vector<Point> points;
  for (const ClusterItem& item : items) {
    points.push_back(ToPoint(item, options));
  }
  std::vector<Point> centres = Seed(points, options.clusters, random);
  Clustering clustering;
  clustering.assignment.assign(items.size(), -1);
  while (clustering.iterations < options.max_iterations && Assign(points, centres, &clustering)) {
    Update(points, &centres, &clustering);
    ++clustering.iterations;
  }
  clustering.inertia = Inertia(points, centres, clustering);
  for (const Point& centre : centres) {
    clustering.centroids.push_back(NormalisedEmbedding(centre, items[0].embedding.size()));
  }
  return clustering;
}

}  // namespace ruvd::inference
