// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/example_gradients.h"

#include <algorithm>
#include <cmath>

#include "inference/numerics/optimizer.h"

namespace ruvd::inference::train {

ClippedSum SumClippedGradients(NetworkPass<float>& pass, ChangeSet<float>& changes,
                               std::span<const TrainingSequence> batch, double limit,
                               uint64_t memory_bytes) {
  const size_t parameters = changes.parameters().size();
  const uint64_t bytes = std::max<uint64_t>(1, parameters * sizeof(float));
  const auto together = static_cast<size_t>(
      std::clamp<uint64_t>(memory_bytes / bytes, 1, std::max<size_t>(1, batch.size())));
  std::vector<float> gradients(together * parameters);
  std::vector<double> sum(parameters);
  ClippedSum result;
  for (size_t begin = 0; begin < batch.size(); begin += together) {
    const size_t count = std::min(together, batch.size() - begin);
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    std::vector<float*> places;
    for (size_t i = 0; i < count; ++i) {
      places.push_back(gradients.data() + i * parameters);
    }
    const std::span<const TrainingSequence> part = batch.subspan(begin, count);
    pass.Run(part, {.changes = &changes, .gradients = places});
    for (size_t i = 0; i < count; ++i) {
      const std::span<float> gradient(places[i], parameters);
      result.norms.push_back(ClipNorm(gradient, limit));
      double& loss = result.losses.emplace_back();
      for (size_t j = 0; j < part[i].predictions.size(); ++j) {
        loss += part[i].predictions[j].weight * pass.nats(i)[j];
      }
      if (!std::isfinite(result.norms.back())) {
        ++result.not_finite;
        continue;
      }
      for (size_t j = 0; j < parameters; ++j) {
        sum[j] += static_cast<double>(gradient[j]);
      }
    }
  }
  result.gradient.assign(sum.begin(), sum.end());
  return result;
}

}  // namespace ruvd::inference::train
