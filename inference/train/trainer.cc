// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/limits.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/limits.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"

namespace ruvd::inference {
namespace {

using train::ChangeSet;
using train::Linear;
using train::Site;

// Keeps the held-out masks apart from the training masks of the same seed.
constexpr uint64_t kHeldOutStream = 0x68656c646f757421ULL;

// Returns how many held-out maskings keep the number of rows within the limit.
int HeldOutSamples(std::span<const TrainingExample> examples, int wanted) {
  size_t rows = 0;
  for (const TrainingExample& example : examples) {
    rows += example.prompt.size() + example.completion.size();
  }
  const size_t mean = std::max<size_t>(1, rows / std::max<size_t>(1, examples.size()));
  const auto affordable = static_cast<int>(limits::kMaxHeldOutRows / mean);
  return wanted < 1 ? wanted : std::min(wanted, std::max(1, affordable));
}

// The texts that are trained on, and those that are measured.
struct Lesson {
  std::span<const TrainingExample> examples;
  std::span<const TrainingExample> held_out;
  double learning_rate = 0;
};

// Runs the training of `changes`; fills all of the result except adapter and cores.
absl::Status Train(Transformer& transformer, const Lesson& lesson, const AdapterMix* base,
                   const TrainingOptions& options, ChangeSet<float>* changes,
                   TrainingResult* result) {
  const Model& model = transformer.model();
  const train::LossOptions loss{.weight_clamp = static_cast<double>(options.weight_clamp)};
  ASSIGN_OR_RETURN(
      const auto objective,
      train::MakeObjective(model, {lesson.examples.begin(), lesson.examples.end()},
                           {.loss = loss, .batch = options.batch, .seed = options.seed}));
  ASSIGN_OR_RETURN(
      const std::vector<train::TrainingSequence> held_out,
      train::HeldOutSequences(model, lesson.held_out, loss,
                              HeldOutSamples(lesson.held_out, options.held_out_samples),
                              options.seed ^ kHeldOutStream));
  ASSIGN_OR_RETURN(const auto weights, train::ModelWeights::Create(
                                           transformer.shared_model(), base, transformer.runner(),
                                           train::TrainingPrecision::kMixed));
  const train::RunOptions run_options{.steps = options.steps,
                                      .learning_rate = lesson.learning_rate,
                                      .seed = options.seed,
                                      .pass = {.memory_bytes = limits::kBackgroundTrainingBytes},
                                      .cancelled = options.cancelled};
  RETURN_IF_ERROR(train::CheckRunOptions(run_options));
  train::TrainingRun run({.weights = weights.get(),
                          .changes = changes,
                          .objective = objective.get(),
                          .held_out = held_out,
                          .runner = &transformer.runner()},
                         run_options);
  RETURN_IF_ERROR(options.drive ? options.drive(run) : run.Advance());
  RUVD_CHECK(run.done());
  result->held_out_before = run.held_out().front();
  result->held_out_after = run.held_out().back();
  result->steps = static_cast<int>(run.step());
  return absl::OkStatus();
}

CoreSet CoresIn(const ChangeSet<float>& changes, const FrameSet& frame) {
  CoreSet cores{.frame_id = frame.id, .model_hash = frame.model_hash, .cores = {}};
  for (const ChangeSet<float>::Entry& entry : changes.entries()) {
    const std::span<const float> values = changes.ParametersOf(entry);
    cores.cores.emplace(train::TensorOf(entry.site),
                        CoreSet::Core{.rank = static_cast<int>(entry.change.spec().rank),
                                      .values = {values.begin(), values.end()}});
  }
  return cores;
}

// Returns the learning rate: `one_matrix` shared out over all, unless the options give another.
absl::StatusOr<double> LearningRate(const TrainingOptions& options, float one_matrix,
                                    size_t matrices) {
  if (!(options.learning_rate >= 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "learning_rate must be a number of at least 0 (0: the default)");
  }
  return options.learning_rate > 0
             ? options.learning_rate
             : one_matrix / std::sqrt(static_cast<float>(std::max<size_t>(1, matrices)));
}

}  // namespace

absl::StatusOr<TrainingResult> TrainLora(Transformer& transformer, std::span<const Site> sites,
                                         std::span<const TrainingExample> examples,
                                         std::span<const TrainingExample> held_out,
                                         const AdapterMix* base, const TrainingOptions& options) {
  const Model& model = transformer.model();
  Lesson lesson{.examples = examples, .held_out = held_out.empty() ? examples : held_out};
  ASSIGN_OR_RETURN(lesson.learning_rate, LearningRate(options, kLoraLearningRate, sites.size()));
  ChangeSet<float> changes(train::NetworkShape::Of(model.config()));
  RETURN_IF_ERROR(train::AddLoras(model, sites, options.rank, false, options.seed, &changes));
  TrainingResult result;
  RETURN_IF_ERROR(Train(transformer, lesson, base, options, &changes, &result));
  result.adapter = train::AdapterOf(model, changes, options.name, options.version);
  return result;
}

absl::StatusOr<TrainingResult> TrainCores(Transformer& transformer, const FrameSet& frame,
                                          std::span<const Site> sites,
                                          std::span<const TrainingExample> examples,
                                          std::span<const TrainingExample> held_out,
                                          const AdapterMix* base, const TrainingOptions& options) {
  const Model& model = transformer.model();
  Lesson lesson{.examples = examples, .held_out = held_out.empty() ? examples : held_out};
  ASSIGN_OR_RETURN(lesson.learning_rate, LearningRate(options, kCoreLearningRate, sites.size()));
  ChangeSet<float> changes(train::NetworkShape::Of(model.config()));
  RETURN_IF_ERROR(train::AddCores(model, frame, sites, options.rank, &changes));
  TrainingResult result;
  RETURN_IF_ERROR(Train(transformer, lesson, base, options, &changes, &result));
  result.cores = CoresIn(changes, frame);
  for (const auto& [target, core] : result.cores->cores) {
    if (!std::ranges::all_of(core.values, [](float value) { return std::isfinite(value); })) {
      return Error(absl::StatusCode::kOutOfRange, reasons::kInvalidArgument,
                   "training diverged at the learning rate {}: the core of {} is no number any "
                   "more; use a lower rate or fewer steps",
                   lesson.learning_rate, target);
    }
  }
  ASSIGN_OR_RETURN(result.adapter,
                   AdapterFromCores(frame, *result.cores, options.name, options.version, 1.0F));
  return result;
}

}  // namespace ruvd::inference
