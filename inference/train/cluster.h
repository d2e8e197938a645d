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

// What a trajectory is clustered by.
struct ClusterItem {
  std::vector<float> embedding;  // normalised
  TimestepBank bank = TimestepBank::kHigh;
  int task = 0;  // 0 <= task < tasks
};

struct ClusterOptions {
  int clusters = 4;  // at most; never more than distinct items
  int tasks = 1;
  // Length of the one-hot vectors beside the embedding of length 1: at 1, two items of different
  // banks are as far apart as orthogonal embeddings.
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

// k-means++ (Arthur, Vassilvitskii 2007) then Lloyd's iterations over
// embedding + weighted one-hots of bank and task. Equal items, options and random state give the
// same clustering; ties go to the lower index. No cluster is empty. Errors: INVALID_ARGUMENT for no
// items, embeddings of different lengths or values that are not finite, or a task out of range.
absl::StatusOr<Clustering> ClusterItems(std::span<const ClusterItem> items,
                                        const ClusterOptions& options, Random& random);

}  // namespace ruvd::inference
