// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/learning/projection_training.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/memory/learning/projection_step.h"
#include "inference/numerics/dense.h"
#include "inference/numerics/optimizer.h"

namespace ruvd::inference {
namespace {

constexpr size_t kStatisticsRows = 20'000;  // of each kind, for mean and covariance
// Added to each variance, as a share of the mean variance, before the components are scaled
constexpr double kShrinkage = 0.05;
constexpr float kFirstTemperature = 0.06F;
constexpr float kFirstBonus = 0.5F;
constexpr float kFirstShare = -1;
constexpr int kWarmUpSteps = 20;
// Cosines over it take hardly part: that of a memory without keys.
constexpr float kNoKeysTemperature = 10;

// Returns random rows of all kinds.
std::vector<float> SampleRows(std::span<const ProjectionExamples> kinds, Random& random) {
  std::vector<float> rows;
  for (const ProjectionExamples& kind : kinds) {
    for (size_t i = 0; i < std::min(kStatisticsRows, kind.size()); ++i) {
      const float* row = kind.hidden.data() + random.Below(kind.size()) * kind.width;
      rows.insert(rows.end(), row, row + kind.width);
    }
  }
  return rows;
}

std::vector<float> MeanOf(std::span<const float> rows, size_t width) {
  std::vector<double> sum(width);
  for (size_t i = 0; i < rows.size(); ++i) {
    sum[i % width] += static_cast<double>(rows[i]);
  }
  std::vector<float> mean(width);
  for (size_t i = 0; i < width; ++i) {
    mean[i] =
        static_cast<float>(sum[i] * static_cast<double>(width) / static_cast<double>(rows.size()));
  }
  return mean;
}

// Returns the covariance (width x width) of the rows.
std::vector<float> CovarianceOf(ParallelRunner& runner, std::span<const float> rows,
                                std::span<const float> mean) {
  const size_t width = mean.size();
  const size_t count = rows.size() / width;
  std::vector<float> covariance(width * width);
  runner.For(width, 8, [&](size_t begin, size_t end) {
    std::vector<double> sums((end - begin) * width);
    for (size_t r = 0; r < count; ++r) {
      const float* row = rows.data() + r * width;
      for (size_t i = begin; i < end; ++i) {
        const double factor = static_cast<double>(row[i] - mean[i]);
        double* const out = sums.data() + (i - begin) * width;
        for (size_t j = 0; j < width; ++j) {
          out[j] += factor * static_cast<double>(row[j] - mean[j]);
        }
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      covariance[begin * width + i] = static_cast<float>(sums[i] / static_cast<double>(count));
    }
  });
  return covariance;
}

// Returns the leading principal components, scaled to about equal variance.
std::vector<float> FirstProjection(std::span<const float> covariance, size_t width,
                                   size_t dimension) {
  double variance = 0;
  for (size_t i = 0; i < width; ++i) {
    variance += static_cast<double>(covariance[i * width + i]) / static_cast<double>(width);
  }
  const EigenPairs leading = TopEigen(covariance, width, dimension);
  std::vector<float> projection(dimension * width);
  for (size_t d = 0; d < dimension; ++d) {
    const double scale =
        1 / std::sqrt(std::max(leading.values[d], 0.0) + kShrinkage * variance + 1e-12);
    for (size_t i = 0; i < width; ++i) {
      projection[d * width + i] = static_cast<float>(leading.vectors.at(d, i) * scale);
    }
  }
  return projection;
}

std::vector<float> FirstParameters(const ProjectionLayout& layout, std::vector<float> projection,
                                   const ProjectionTrainingOptions& options) {
  std::vector<float> parameters = std::move(projection);
  parameters.resize(layout.size(), 0.0F);
  parameters[layout.temperature()] =
      std::log(options.keys ? kFirstTemperature : kNoKeysTemperature);
  std::fill_n(parameters.begin() + static_cast<ptrdiff_t>(layout.bonuses()),
              ProjectionLayout::kBonuses, options.neighbours ? kFirstBonus : 0.0F);
  parameters[layout.share()] = kFirstShare;
  return parameters;
}

// Keeps what a baseline does without as it began.
void Freeze(const ProjectionLayout& layout, const ProjectionTrainingOptions& options,
            std::span<float> gradient) {
  if (!options.keys) {
    std::ranges::fill(gradient.first(layout.bonuses()), 0.0F);
  }
  if (!options.neighbours) {
    std::ranges::fill(gradient.subspan(layout.bonuses(), ProjectionLayout::kBonuses), 0.0F);
  }
  if (!options.keys && !options.neighbours) {
    std::ranges::fill(gradient.subspan(layout.biases(), 2), 0.0F);
  }
}

MemoryParameters Result(const ProjectionLayout& layout, std::vector<float> mean,
                        std::span<const float> values) {
  MemoryParameters result;
  result.width = static_cast<int>(layout.width);
  result.dimension = static_cast<int>(layout.dimension);
  result.mean = std::move(mean);
  result.projection.assign(values.begin(),
                           values.begin() + static_cast<ptrdiff_t>(layout.temperature()));
  result.temperature = std::exp(values[layout.temperature()]);
  const std::span<const float> bonuses =
      values.subspan(layout.bonuses(), ProjectionLayout::kBonuses);
  std::copy_n(bonuses.begin(), kMemoryLeft, result.left.begin());
  std::copy_n(bonuses.begin() + kMemoryLeft, kMemoryRight, result.right.begin());
  result.both = bonuses.back();
  result.surprise = values[layout.biases()];
  result.timestep = values[layout.biases() + 1];
  return result;
}

ProjectionBatch DrawBatch(const ProjectionExamples& kind, const ProjectionTrainingOptions& options,
                          Random& random) {
  ProjectionBatch batch{.examples = &kind};
  for (size_t i = 0; i < options.queries; ++i) {
    batch.queries.push_back(random.Below(kind.size()));
  }
  for (size_t i = 0; i < std::min(options.entries, kind.size()); ++i) {
    batch.entries.push_back(random.Below(kind.size()));
  }
  return batch;
}

}  // namespace

void ProjectionExamples::Add(std::span<const TokenId> lesson, const ObservedLesson& observed,
                             uint32_t document) {
  const auto at = [&](ptrdiff_t place) {
    return place >= 0 && place < static_cast<ptrdiff_t>(lesson.size())
               ? lesson[static_cast<size_t>(place)]
               : kNoToken;
  };
  for (size_t i = 0; i < observed.tokens.size(); ++i) {
    const auto place = static_cast<ptrdiff_t>(observed.given + i);
    std::array<TokenId, kMemoryLeft> before;
    std::array<TokenId, kMemoryRight> after;
    for (size_t k = 0; k < kMemoryLeft; ++k) {
      before[k] = at(place - 1 - static_cast<ptrdiff_t>(k));
    }
    for (size_t k = 0; k < kMemoryRight; ++k) {
      after[k] = at(place + 1 + static_cast<ptrdiff_t>(k));
    }
    left.push_back(before);
    right.push_back(after);
    documents.push_back(document);
  }
  tokens.insert(tokens.end(), observed.tokens.begin(), observed.tokens.end());
  hidden.insert(hidden.end(), observed.hidden.begin(), observed.hidden.end());
}

absl::StatusOr<MemoryParameters> TrainProjection(ParallelRunner& runner,
                                                 std::span<const ProjectionExamples> kinds,
                                                 const ProjectionTrainingOptions& options) {
  const bool empty = kinds.empty() ||
                     std::ranges::any_of(kinds, [](const auto& kind) { return kind.size() == 0; });
  if (empty || kinds.front().width < static_cast<size_t>(options.dimension)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the keys of a token memory need text of each kind, and states of at least {} "
                 "values",
                 options.dimension);
  }
  const ProjectionLayout layout{.width = kinds.front().width,
                                .dimension = static_cast<size_t>(options.dimension)};
  Random random(options.seed);
  const std::vector<float> rows = SampleRows(kinds, random);
  std::vector<float> mean = MeanOf(rows, layout.width);
  const std::vector<float> covariance = CovarianceOf(runner, rows, mean);
  std::vector<float> values =
      FirstParameters(layout, FirstProjection(covariance, layout.width, layout.dimension), options);
  double size = 0;
  for (size_t i = 0; i < layout.temperature(); ++i) {
    size += std::abs(static_cast<double>(values[i])) / static_cast<double>(layout.temperature());
  }
  train::Optimizer optimizer(layout.size(), {.beta2 = 0.999},
                             {{.count = layout.temperature(), .rate = size},
                              {.count = layout.size() - layout.temperature(), .rate = 1}});
  ProjectionStep step(runner, layout, mean);
  std::vector<float> gradient(layout.size());
  for (int i = 0; i < options.steps; ++i) {
    const ProjectionBatch batch =
        DrawBatch(kinds[static_cast<size_t>(i) % kinds.size()], options, random);
    const double loss = step.Run(batch, values, gradient);
    Freeze(layout, options, gradient);
    const double rise = std::min(1.0, static_cast<double>(i + 1) / kWarmUpSteps);
    const double fall = 1 - static_cast<double>(i) / options.steps;
    optimizer.Step(gradient, options.learning_rate * rise * fall, values);
    if (options.progress) {
      RETURN_IF_ERROR(options.progress(i, loss));
    }
  }
  return Result(layout, std::move(mean), values);
}

}  // namespace ruvd::inference
