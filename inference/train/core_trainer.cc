// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/core_trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/train/model_weights.h"

namespace ruvd::inference::train {
namespace {

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::Status CheckSteps(const CoreSteps& steps, const Objective& objective) {
  if (!(steps.learning_rate > 0) || !std::isfinite(steps.learning_rate) || !(steps.clip_norm > 0) ||
      !(steps.prox >= 0) || !std::isfinite(steps.prox) || !(steps.hold >= 0) ||
      !std::isfinite(steps.hold)) {
    return Invalid(
        "learning rate {}, clip norm {}, proximal weight {} and hold {}: the first two must be "
        "above 0 and the others at least 0",
        steps.learning_rate, steps.clip_norm, steps.prox, steps.hold);
  }
  return objective.compares()
             ? Invalid("cores cannot be trained by preferences; give an objective of texts")
             : absl::OkStatus();
}

// While serving, banks are chosen by one masked share for all blocks that are read.
absl::Status CheckBatch(std::span<const TrainingSequence> batch, const ChangeSet<float>& changes) {
  for (const TrainingSequence& sequence : batch) {
    if (sequence.follows_frozen) {
      return Invalid("cores cannot be trained to follow the frozen network; leave this part out");
    }
    if (changes.schedule().banks() > 1 &&
        sequence.attention.kind == Attention::Kind::kNoisyAndClean) {
      return Invalid(
          "timestep banks cannot be trained by block diffusion; train them by masked diffusion");
    }
  }
  return absl::OkStatus();
}

// Adds the derivative of prox/2 |at - from|^2.
void AddProximalGradient(double prox, std::span<const float> at, std::span<const float> from,
                         std::span<float> gradient) {
  for (size_t i = 0; prox > 0 && i < gradient.size(); ++i) {
    gradient[i] +=
        static_cast<float>(prox * (static_cast<double>(at[i]) - static_cast<double>(from[i])));
  }
}

// Adds the derivative of hold/2 sum fisher at^2.
void AddHoldGradient(double hold, std::span<const float> at, std::span<const float> fisher,
                     std::span<float> gradient) {
  for (size_t i = 0; hold > 0 && i < gradient.size(); ++i) {
    gradient[i] +=
        static_cast<float>(hold * static_cast<double>(fisher[i]) * static_cast<double>(at[i]));
  }
}

double LearningRateAt(const CoreSteps& steps, uint64_t step) {
  const uint64_t all = std::max(steps.schedule_steps, step + 1);
  return steps.schedule_steps == 0 ? steps.learning_rate
                                   : steps.learning_rate * LearningRateShare({}, step, all);
}

absl::StatusOr<TrainingSequence> SequenceOf(const CoreTrainer::Draw& draw, const TextRules& rules) {
  const size_t length = draw.text->completion.size();
  if (length == 0) {
    return Invalid("a training text needs a completion");
  }
  Random random(draw.seed);
  const std::vector<std::vector<size_t>> spans(1, {length});
  return CorruptedSequence(rules, *draw.text, DrawCorruptions(spans, random).front(), {}, 1.0);
}

}  // namespace

size_t TenthOfShare(double t) {
  constexpr double kTenths = kShareTenths;
  // A share such as 0.3 may lie above 3/10 by rounding.
  constexpr double kRounding = 1e-9;
  return static_cast<size_t>(std::clamp(std::ceil(t * kTenths - kRounding) - 1, 0.0, kTenths - 1));
}

CoreTrainer::CoreTrainer(const Parts& parts, const CoreShape& shape)
    : parts_(parts),
      shape_(shape),
      pass_(*parts.weights, *parts.runner, parts.pass),
      cores_(parts.weights->shape(), shape.schedule()) {}

absl::StatusOr<std::unique_ptr<CoreTrainer>> CoreTrainer::Create(const Parts& parts,
                                                                 const CoreShape& shape) {
  RETURN_IF_ERROR(CheckCoreShape(shape, *parts.frame));
  std::unique_ptr<CoreTrainer> trainer(new CoreTrainer(parts, shape));
  for (const CoreShape::Module& module : shape.modules) {
    ASSIGN_OR_RETURN(trainer->sites_.emplace_back(), SiteOf(parts.model->config(), module.target));
  }
  RETURN_IF_ERROR(trainer->AddCoresTo(&trainer->cores_));
  trainer->fisher_ = FisherOf(shape, *parts.frame);
  return trainer;
}

absl::Status CoreTrainer::AddCoresTo(ChangeSet<float>* changes) const {
  for (size_t bank = 0; bank < shape_.banks(); ++bank) {
    for (size_t i = 0; i < sites_.size(); ++i) {
      RETURN_IF_ERROR(AddCores(*parts_.model, *parts_.frame, std::span(sites_).subspan(i, 1),
                               shape_.modules[i].rank, changes, {.bank = bank}));
    }
  }
  return absl::OkStatus();
}

absl::Status CoreTrainer::SetCores(std::span<const std::vector<float>> values,
                                   ChangeSet<float>* changes) const {
  const size_t expected = shape_.values_per_bank();
  if (values.size() != shape_.banks() ||
      !std::ranges::all_of(values, [&](const auto& bank) { return bank.size() == expected; })) {
    return Invalid("cores in {} banks must have {} values in each", shape_.banks(), expected);
  }
  auto to = changes->parameters().begin();
  for (const std::vector<float>& bank : values) {
    to = std::ranges::copy(bank, to).out;
  }
  return absl::OkStatus();
}

std::vector<std::vector<float>> CoreTrainer::Cores() const {
  std::vector<std::vector<float>> values;
  const size_t each = shape_.values_per_bank();
  for (size_t bank = 0; bank < shape_.banks(); ++bank) {
    const auto own = std::span(cores_.parameters()).subspan(bank * each, each);
    values.emplace_back(own.begin(), own.end());
  }
  return values;
}

absl::Status CoreTrainer::RunPass(std::span<const TrainingSequence> batch,
                                  std::span<float> gradient, const BetweenSlices& between_slices,
                                  const Trainee& trainee) {
  RETURN_IF_ERROR(CheckBatch(batch, trainee.changes));
  const std::vector<float*> places(batch.size(), gradient.data());
  pass_.Begin(batch, {.changes = &trainee.changes, .gradients = places});
  // Parameters, where they began, their gradient, the optimiser's two means, and what holds them
  return FinishPass(between_slices, gradient.size() * (3 * sizeof(float) + 2 * sizeof(double)) +
                                        fisher_.size() * sizeof(float));
}

absl::Status CoreTrainer::FinishPass(const BetweenSlices& between_slices, uint64_t state) {
  while (!pass_.Advance()) {
    if (between_slices) {
      RETURN_IF_ERROR(between_slices(pass_.bytes() + state));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CoreTrainer::Progress> CoreTrainer::TakeSteps(const Objective& objective,
                                                             const CoreSteps& steps,
                                                             const BetweenSlices& between_slices,
                                                             const Trainee& trainee) {
  RETURN_IF_ERROR(CheckSteps(steps, objective));
  if (steps.hold > 0 && trainee.fisher.empty()) {
    return Invalid(
        "hold is {}, but there is no Fisher information of what is trained; set it to 0, or train "
        "cores in a frame that `ruvd model frame` made of text",
        steps.hold);
  }
  std::vector<float>& parameters = trainee.changes.parameters();
  const std::span<float> trained = std::span(parameters).subspan(trainee.frozen);
  const std::vector<float> from(trained.begin(), trained.end());
  std::vector<float> gradient(parameters.size());
  Progress progress;
  for (uint64_t step = steps.first; step < steps.first + steps.count; ++step) {
    const std::vector<TrainingSequence> batch = objective.Draw(step);
    std::ranges::fill(gradient, 0.0F);
    RETURN_IF_ERROR(RunPass(batch, gradient, between_slices, trainee));
    const std::span<float> own = std::span(gradient).subspan(trainee.frozen);
    AddProximalGradient(steps.prox, trained, from, own);
    AddHoldGradient(steps.hold, trained, trainee.fisher, own);
    if (!std::isfinite(ClipNorm(own, steps.clip_norm))) {
      return Error(absl::StatusCode::kInternal, reasons::kInternal,
                   "the gradient of step {} is not finite; lower the learning rate", step);
    }
    trainee.optimizer.Step(own, LearningRateAt(steps, step), trained);
    for (const TrainingSequence& sequence : batch) {
      ++progress.maskings[TenthOfShare(sequence.t)];
    }
    progress.loss = pass_.loss();
  }
  return progress;
}

absl::StatusOr<CoreTrainer::Trained> CoreTrainer::Train(std::span<const std::vector<float>> from,
                                                        const Objective& objective,
                                                        const CoreSteps& steps,
                                                        OptimizerState* state,
                                                        const BetweenSlices& between_slices) {
  RETURN_IF_ERROR(SetCores(from, &cores_));
  Optimizer optimizer(shape_.values(), {});
  if (state != nullptr && *state != OptimizerState() && !optimizer.Restore(*state)) {
    return Invalid("the optimiser's state has {} values, not {}; begin with an empty state",
                   state->first.size(), shape_.values());
  }
  ASSIGN_OR_RETURN(const Progress progress,
                   TakeSteps(objective, steps, between_slices,
                             {.changes = cores_, .optimizer = optimizer, .fisher = fisher_}));
  if (state != nullptr) {
    *state = optimizer.state();
  }
  return Trained{.values = Cores(), .maskings = progress.maskings, .loss = progress.loss};
}

absl::Status CoreTrainer::Gradients(std::span<const std::vector<float>> at,
                                    std::span<const Draw> draws, std::span<float* const> gradients,
                                    std::span<double> t, const BetweenSlices& between_slices) {
  RUVD_CHECK(gradients.size() == draws.size() && t.size() == draws.size());
  if (draws.empty()) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(SetCores(at, &cores_));
  ASSIGN_OR_RETURN(const TextRules rules, RulesOf(*parts_.model));
  std::vector<TrainingSequence> batch;
  for (const Draw& draw : draws) {
    ASSIGN_OR_RETURN(batch.emplace_back(), SequenceOf(draw, rules));
  }
  RETURN_IF_ERROR(CheckSequences(parts_.model->config(), batch));
  pass_.Begin(batch, {.changes = &cores_, .gradients = gradients});
  // Parameters, and a gradient of each draw
  RETURN_IF_ERROR(FinishPass(between_slices, (draws.size() + 1) * shape_.values() * sizeof(float)));
  std::ranges::transform(batch, t.begin(), &TrainingSequence::t);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Talora>> CoreTrainer::TrainOverlay(
    std::span<const std::vector<float>> beneath, const Objective& objective, const CoreSteps& steps,
    const Overlay& overlay, const BetweenSlices& between_slices) {
  // A LoRA's A is drawn from the seed in the order of execution.
  std::vector<Site> sites = sites_;
  std::ranges::sort(sites);
  const NetworkShape& network = parts_.weights->shape();
  ChangeSet<float> lora(network);
  RETURN_IF_ERROR(AddLoras(*parts_.model, sites, overlay.rank, false, overlay.seed, &lora));
  ChangeSet<float> both(network, shape_.schedule());
  RETURN_IF_ERROR(AddCoresTo(&both));
  RETURN_IF_ERROR(SetCores(beneath, &both));
  const size_t frozen = both.parameters().size();
  RETURN_IF_ERROR(AddLoras(*parts_.model, sites, overlay.rank, false, overlay.seed, &both));
  Optimizer optimizer(lora.parameters().size(), {});
  RETURN_IF_ERROR(
      TakeSteps(objective, steps, between_slices,
                {.changes = both, .frozen = frozen, .optimizer = optimizer, .fisher = {}})
          .status());
  std::ranges::copy(std::span(both.parameters()).subspan(frozen), lora.parameters().begin());
  return TaloraOf(*parts_.model, lora, overlay.labels, {});
}

}  // namespace ruvd::inference::train
