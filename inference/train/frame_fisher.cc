// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/frame_fisher.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/core_shape.h"
#include "inference/limits.h"
#include "inference/train/core_trainer.h"
#include "inference/train/model_weights.h"

namespace ruvd::inference {
namespace {

using train::CoreTrainer;

std::vector<CoreTrainer::Draw> DrawsOf(std::span<const TrainingExample> pieces, uint64_t seed) {
  Random random(seed);
  std::vector<CoreTrainer::Draw> draws;
  for (const TrainingExample& piece : pieces) {
    draws.push_back({.text = &piece, .seed = random.Next()});
  }
  return draws;
}

// Adds the squares of each gradient. They are added in the order of the draws, whatever the batch.
void AddSquares(std::span<const std::vector<float>> gradients, std::span<double> sums) {
  for (const std::vector<float>& gradient : gradients) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
  }
}

absl::StatusOr<std::vector<double>> SumsOfSquares(CoreTrainer& trainer,
                                                  std::span<const CoreTrainer::Draw> draws,
                                                  size_t batch, const FrameProgress& progress) {
  const size_t values = trainer.shape().values();
  const std::vector<std::vector<float>> zeros(1, std::vector<float>(values));
  std::vector<double> sums(values);
  const size_t batches = (draws.size() + batch - 1) / batch;
  for (size_t i = 0; i < batches; ++i) {
    const auto part = draws.subspan(i * batch, std::min(batch, draws.size() - i * batch));
    std::vector<std::vector<float>> gradients(part.size(), std::vector<float>(values));
    std::vector<float*> places;
    for (std::vector<float>& gradient : gradients) {
      places.push_back(gradient.data());
    }
    std::vector<double> t(part.size());
    RETURN_IF_ERROR(trainer.Gradients(zeros, part, places, t));
    AddSquares(gradients, sums);
    if (progress && !progress(i + 1, batches)) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "the Fisher information was not finished; run the command again");
    }
  }
  return sums;
}

}  // namespace

absl::Status AddFisher(const std::shared_ptr<const Model>& model,
                       std::span<const TrainingExample> pieces, const FisherOptions& options,
                       ParallelRunner& runner, FrameSet* frame, const FrameProgress& progress) {
  if (pieces.empty() || options.batch < 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "Fisher information cannot be computed from {} pieces in batches of {}; give text "
                 "and a batch of at least 1",
                 pieces.size(), options.batch);
  }
  ASSIGN_OR_RETURN(auto weights, train::ModelWeights::Create(model, nullptr, runner));
  ASSIGN_OR_RETURN(const CoreShape shape, CoreShapeOf(*frame, limits::kMaxAdapterRank));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<CoreTrainer> trainer,
      CoreTrainer::Create(
          {.model = model, .weights = weights.get(), .frame = frame, .runner = &runner, .pass = {}},
          shape));
  ASSIGN_OR_RETURN(const std::vector<double> sums,
                   SumsOfSquares(*trainer, DrawsOf(pieces, options.seed),
                                 static_cast<size_t>(options.batch), progress));
  if (!std::ranges::all_of(sums,
                           [](double sum) { return std::isfinite(static_cast<float>(sum)); })) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "a gradient of public text is not finite; check the model with `ruvd model "
                 "evaluate`");
  }
  auto from = sums.begin();
  for (const CoreShape::Module& module : shape.modules) {
    std::vector<float>& fisher = frame->modules.at(module.target).fisher;
    fisher.clear();
    for (size_t i = 0; i < module.values(); ++i) {
      fisher.push_back(static_cast<float>(*from++ / static_cast<double>(pieces.size())));
    }
  }
  frame->id = ContentId(*frame);
  return absl::OkStatus();
}

}  // namespace ruvd::inference
