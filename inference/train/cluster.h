// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/adapter/bank.h"

namespace ruvd::inference {

// The properties by which a trajectory is clustered.
struct ClusterItem {
  std::vector<float> embedding;  // normalised
  TimestepBank bank = TimestepBank::kHigh;
  int task = 0;  // 0 <= task < tasks
};

struct ClusterOptions {
  int clusters = 4;  // the most clusters; never more than distinct items
  int tasks = 1;
  // Length of the one-hot vectors that are appended to the embedding of length 1. With a length of
  // 1, two items of different banks are as far apart as two orthogonal embeddings.
  float bank_weight = 0.5F;
  float task_weight = 0.5F;
  int max_iterations = 32;
};

struct Clustering {
  std::vector<int> assignment;                // cluster of each item
  std::vector<std::vector<float>> centroids;  // mean embedding of each cluster, normalised
  double inertia = 0;                         // sum of squared distances to the cluster means
  int iterations = 0;
};

// Runs k-means++ (Arthur, Vassilvitskii 2007) and then Lloyd's iterations over the embedding with
// weighted one-hot vectors of bank and task. Equal items, options and random state give the same
// clustering; ties go to the lower index. No cluster is empty. INVALID_ARGUMENT if there are no
// items, if embeddings have different lengths or values that are not finite, or if a task is out of
// range.
absl::StatusOr<Clustering> ClusterItems(std::span<const ClusterItem> items,
                                        const ClusterOptions& options, Random& random);

}  // namespace ruvd::inference
