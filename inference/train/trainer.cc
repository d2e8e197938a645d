// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
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

// Returns the site of the last layer, or the head, that has this name; sites before the attention
// output are not supported.
absl::StatusOr<Site> LastLayerSite(const Model& model, std::string_view target) {
  const auto layers = static_cast<size_t>(model.config().layers);
  for (const Linear linear :
       {Linear::kAttentionOutput, Linear::kGate, Linear::kUp, Linear::kDown, Linear::kHead}) {
    if (train::LinearName(linear) == target) {
      return Site{linear == Linear::kHead ? layers : layers - 1, linear};
    }
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "cannot train {}; choose attn_output, ffn_gate, ffn_up, ffn_down or output", target);
}

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
  float learning_rate = 0;
};

// Runs the training of `changes`; fills all of the result except adapter and core.
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
  const train::RunOptions run_options{
      .steps = options.steps,
      .learning_rate = static_cast<double>(options.learning_rate > 0 ? options.learning_rate
                                                                     : lesson.learning_rate),
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

absl::Status CheckLearningRate(const TrainingOptions& options) {
  return options.learning_rate >= 0
             ? absl::OkStatus()
             : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "learning_rate must be a number of at least 0 (0: the default)");
}

}  // namespace

absl::StatusOr<TrainingResult> TrainLora(Transformer& transformer, std::span<const Site> sites,
                                         std::span<const TrainingExample> examples,
                                         std::span<const TrainingExample> held_out,
                                         const AdapterMix* base, const TrainingOptions& options) {
  const Model& model = transformer.model();
  RETURN_IF_ERROR(CheckLearningRate(options));
  ChangeSet<float> changes(train::NetworkShape::Of(model.config()));
  RETURN_IF_ERROR(train::AddLoras(model, sites, options.rank, false, options.seed, &changes));
  TrainingResult result;
  const Lesson lesson{
      .examples = examples,
      .held_out = held_out.empty() ? examples : held_out,
      .learning_rate =
          kLoraLearningRate / std::sqrt(static_cast<float>(std::max<size_t>(1, sites.size())))};
  RETURN_IF_ERROR(Train(transformer, lesson, base, options, &changes, &result));
  result.adapter = train::AdapterOf(model, changes, options.name, options.version);
  return result;
}

absl::StatusOr<TrainingResult> TrainLastLayerCore(Transformer& transformer,
                                                  const ProjectionFrame& frame,
                                                  std::span<const TrainingExample> examples,
                                                  std::span<const TrainingExample> held_out,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options) {
  const Model& model = transformer.model();
  RETURN_IF_ERROR(CheckLearningRate(options));
  if (frame.model_hash != model.hash()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "the frame belongs to another model; make a frame for this model");
  }
  const absl::StatusOr<Site> site = train::SiteOf(model.config(), frame.target);
  if (!site.ok() || site->layer + 1 < static_cast<size_t>(model.config().layers) ||
      !LastLayerSite(model, train::LinearName(site->linear)).ok()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "the frame's target {} is not in the last layer; make another frame",
                 frame.target);
  }
  const BankSchedule schedule{.boundaries = options.bank_boundaries};
  RETURN_IF_ERROR(CheckSchedule(schedule));
  ChangeSet<float> changes(train::NetworkShape::Of(model.config()), schedule);
  const bool banked = schedule.banks() > 1;
  for (size_t bank = 0; bank < schedule.banks(); ++bank) {
    changes.AddCore(*site, static_cast<size_t>(frame.rank), 1.0F, frame.p, frame.q,
                    {.bank = banked ? std::optional(bank) : std::nullopt});
  }
  TrainingResult result;
  const Lesson lesson{.examples = examples,
                      .held_out = held_out.empty() ? examples : held_out,
                      .learning_rate = kCoreLearningRate};
  RETURN_IF_ERROR(Train(transformer, lesson, base, options, &changes, &result));
  result.core = changes.parameters();
  if (banked) {
    return result;
  }
  ASSIGN_OR_RETURN(result.adapter,
                   AdapterFromCore(frame, result.core, options.name, options.version, 1.0F));
  return result;
}

}  // namespace ruvd::inference
