// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/limits.h"

namespace ruvd::inference::train {
namespace {

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}", what);
}

bool IsShare(double value) {
  return value >= 0 && value < 1;
}

absl::Status CheckOptimizer(const OptimizerOptions& options) {
  return IsShare(options.beta1) && IsShare(options.beta2) && IsShare(options.momentum) &&
                 options.epsilon > 0 && options.weight_decay >= 0 &&
                 std::isfinite(options.weight_decay)
             ? absl::OkStatus()
             : Invalid(
                   "beta1, beta2 and momentum must be at least 0 and below 1, epsilon above 0 "
                   "and weight_decay at least 0");
}

}  // namespace

absl::Status CheckRunOptions(const RunOptions& options) {
  RETURN_IF_ERROR(CheckOptimizer(options.optimizer));
  if (options.steps < 1 || options.steps > limits::kMaxTrainingSteps || options.accumulate < 1 ||
      options.accumulate > limits::kMaxTrainingBatch) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "steps must be 1 to {}, accumulate 1 to {}", limits::kMaxTrainingSteps,
                 limits::kMaxTrainingBatch);
  }
  if (!std::isfinite(options.learning_rate) || options.learning_rate <= 0 ||
      !(options.clip_norm > 0)) {
    return Invalid("learning_rate must be a number above 0 and clip_norm above 0");
  }
  if (!IsShare(options.schedule.warm_up) || !(options.schedule.final_share >= 0) ||
      !(options.schedule.final_share <= 1)) {
    return Invalid("warm_up must be at least 0 and below 1, final_share between 0 and 1");
  }
  if (options.evaluate_every < 0 || options.patience < 0) {
    return Invalid("evaluate_every and patience must be at least 0");
  }
  return CheckEwcOptions(options.ewc);
}

TrainingRun::TrainingRun(const RunParts& parts, const RunOptions& options)
    : parts_(parts),
      options_(options),
      pass_(*parts.weights, *parts.runner, options.pass),
      held_out_prefix_{.max_bytes = options.pass.memory_bytes},
      optimizer_(parts.changes->parameters().size(), options.optimizer, parts.changes->Groups()) {
  RUVD_CHECK(CheckRunOptions(options).ok());
  if (const EwcMemory* remembered = parts.remembered; remembered != nullptr) {
    const size_t parameters = parts.changes->parameters().size();
    RUVD_CHECK(remembered->anchor.size() == parameters && remembered->fisher.size() == parameters);
    if (options.ewc.fisher_rate > 0) {
      state_.fisher = remembered->fisher;
    }
  }
  state_.task = Task();
  state_.seed = options.seed;
  BeginNext();
}

// Returns a digest of all that decides the run's numbers and is not in the caller's own digest.
Digest TrainingRun::Task() const {
  const RunOptions& o = options_;
  ByteWriter out;
  out.WriteBytes(o.task).Write(o.steps).Write(o.accumulate).Write(o.learning_rate);
  out.Write(static_cast<uint8_t>(o.schedule.kind)).Write(o.schedule.warm_up);
  out.Write(o.schedule.final_share).Write(static_cast<uint8_t>(o.optimizer.kind));
  out.Write(o.optimizer.beta1).Write(o.optimizer.beta2).Write(o.optimizer.epsilon);
  out.Write(o.optimizer.weight_decay).Write(o.optimizer.momentum).Write(o.clip_norm);
  out.Write(o.ewc.strength).Write(o.ewc.fisher_rate).Write(o.ewc.examples);
  if (parts_.remembered != nullptr) {
    out.WriteBytes(EwcMemoryId(*parts_.remembered));
  }
  out.Write(o.evaluate_every).Write(o.patience).Write(o.seed).Write(o.pass.memory_bytes);
  if (const auto& row = parts_.changes->row(); row) {
    out.WriteText("row").Write(row->token).Write(static_cast<uint8_t>(row->tied ? 1 : 0));
  }
  for (const auto& entry : parts_.changes->entries()) {
    const ChangeSpec<float>& spec = entry.change.spec();
    out.WriteText(TensorOf(entry.site)).Write(static_cast<uint8_t>(spec.kind));
    out.Write<uint64_t>(spec.rank).Write(spec.scale);
    const ChangePlacement& placement = entry.placement;
    out.Write(static_cast<uint64_t>(placement.bank ? *placement.bank + 1 : 0));
    out.Write(placement.rate).Write(placement.decay);
  }
  const BankSchedule& schedule = parts_.changes->schedule();
  out.Write(static_cast<uint8_t>(schedule.strategy)).Write(schedule.temperature);
  for (const float boundary : schedule.boundaries) {
    out.Write(boundary);
  }
  return Sha256(out.str());
}

bool TrainingRun::EvaluationIsDue() const {
  if (parts_.held_out.empty() || state_.evaluated) {
    return false;
  }
  const auto every = static_cast<uint64_t>(options_.evaluate_every);
  return state_.step == 0 || state_.step == static_cast<uint64_t>(options_.steps) ||
         (every > 0 && state_.step % every == 0);
}

bool TrainingRun::ShouldStopEarly() const {
  if (options_.patience == 0 || !state_.evaluated) {
    return false;
  }
  const auto best = std::ranges::min_element(state_.held_out);
  return state_.held_out.end() - best > options_.patience;
}

void TrainingRun::BeginEvaluation() {
  phase_ = Phase::kHeldOut;
  pass_.Begin(parts_.held_out,
              {.changes = parts_.changes, .gradients = {}, .prefix = &held_out_prefix_});
}

void TrainingRun::BeginStep() {
  gradient_.assign(parts_.changes->parameters().size(), 0.0F);
  accumulated_ = 0;
  batch_loss_ = 0;
  BeginBatch();
}

void TrainingRun::BeginBatch() {
  const auto accumulate = static_cast<uint64_t>(options_.accumulate);
  batch_ = parts_.objective->Draw(state_.step * accumulate + static_cast<uint64_t>(accumulated_));
  for (TrainingSequence& sequence : batch_) {
    sequence.share /= options_.accumulate;
    for (Prediction& prediction : sequence.predictions) {
      prediction.weight /= options_.accumulate;
    }
  }
  if (parts_.objective->compares()) {
    phase_ = Phase::kPolicy;
    pass_.Begin(batch_, {.changes = parts_.changes});
  } else {
    BeginFrozen();
  }
}

// Computes the frozen states for the sequences that follow the frozen network; these come last.
void TrainingRun::BeginFrozen() {
  const auto followers = std::ranges::stable_partition(
      batch_, [](const TrainingSequence& sequence) { return !sequence.follows_frozen; });
  frozen_.hidden.clear();
  if (followers.empty()) {
    BeginGradient();
    return;
  }
  phase_ = Phase::kFrozen;
  pass_.Begin(std::span(batch_).last(followers.size()), {.record = &frozen_});
}

// Returns the sequences of this batch whose gradients form the running Fisher. They are spread over
// the batch, because the parts of mixed objectives are stored one after the other, and they differ
// from step to step.
std::vector<size_t> TrainingRun::FisherExamples() const {
  if (options_.ewc.fisher_rate == 0 || accumulated_ > 0) {
    return {};
  }
  const auto own = static_cast<size_t>(std::ranges::count_if(
      batch_, [](const TrainingSequence& sequence) { return !sequence.follows_frozen; }));
  std::vector<size_t> examples(std::min(own, static_cast<size_t>(options_.ewc.examples)));
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i] = (i * own / examples.size() + state_.step) % own;
  }
  return examples;
}

void TrainingRun::BeginGradient() {
  phase_ = Phase::kGradient;
  std::vector<float*> gradients(batch_.size(), gradient_.data());
  const std::vector<size_t> examples = FisherExamples();
  example_gradients_.assign(examples.size() * gradient_.size(), 0.0F);
  for (size_t i = 0; i < examples.size(); ++i) {
    gradients[examples[i]] = example_gradients_.data() + i * gradient_.size();
  }
  pass_.Begin(batch_, {.changes = parts_.changes,
                       .gradients = gradients,
                       .frozen = frozen_.hidden.empty() ? nullptr : &frozen_});
}

// Computes the Fisher after this step, and adds the gradients of its examples to the others.
void TrainingRun::TakeExampleGradients() {
  const size_t parameters = gradient_.size();
  std::vector<double> scales;
  for (const size_t example : FisherExamples()) {
    scales.push_back(1.0 / batch_[example].share);
  }
  next_fisher_ = state_.fisher;
  if (!scales.empty()) {
    UpdateFisher(example_gradients_, scales, options_.ewc.fisher_rate, &next_fisher_);
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    for (size_t j = 0; j < parameters; ++j) {
      gradient_[j] += example_gradients_[i * parameters + j];
    }
  }
}

std::vector<double> TrainingRun::SequenceLosses() const {
  std::vector<double> losses;
  for (size_t s = 0; s < batch_.size(); ++s) {
    double sum = 0;
    for (size_t i = 0; i < batch_[s].predictions.size(); ++i) {
      sum += batch_[s].predictions[i].weight * pass_.nats(s)[i];
    }
    // Compare weighs whole losses, independent of this batch's share of the step.
    losses.push_back(sum * options_.accumulate);
  }
  return losses;
}

// While serving, banks are chosen by the masked share of the current block for all blocks that are
// read, the clean ones before it included; a sequence [x_t ; x_0] reads blocks of different shares
// at once.
absl::Status TrainingRun::CheckBanks() const {
  const auto by_block = [](const TrainingSequence& sequence) {
    return sequence.attention.kind == Attention::Kind::kNoisyAndClean;
  };
  return parts_.changes->banked() && (std::ranges::any_of(batch_, by_block) ||
                                      std::ranges::any_of(parts_.held_out, by_block))
             ? Invalid(
                   "timestep banks cannot be trained by block diffusion, whose blocks have masked "
                   "shares of their own; train them by masked diffusion, or a static adapter")
             : absl::OkStatus();
}

absl::Status TrainingRun::Advance(const std::function<bool()>& pause) {
  while (phase_ != Phase::kDone) {
    RETURN_IF_ERROR(CheckBanks());
    if (options_.cancelled && options_.cancelled()) {
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "training was cancelled; start it again");
    }
    if (pass_.Advance()) {
      RETURN_IF_ERROR(FinishPass());
    }
    if (pause && pause()) {
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::FinishPass() {
  switch (phase_) {
    case Phase::kHeldOut:
      FinishEvaluation();
      break;
    case Phase::kPolicy:
      policy_ = SequenceLosses();
      phase_ = Phase::kReference;
      pass_.Begin(batch_, {});
      break;
    case Phase::kReference:
      batch_loss_ +=
          parts_.objective->Compare(policy_, SequenceLosses(), batch_) / options_.accumulate;
      BeginGradient();
      break;
    case Phase::kFrozen:
      frozen_.hidden.insert(frozen_.hidden.begin(), batch_.size() - frozen_.hidden.size(), {});
      BeginGradient();
      break;
    case Phase::kGradient:
      return FinishGradient();
    case Phase::kDone:
      break;
  }
  return absl::OkStatus();
}

void TrainingRun::FinishEvaluation() {
  const double loss = pass_.loss();
  const bool best = state_.held_out.empty() || loss < *std::ranges::min_element(state_.held_out);
  state_.held_out.push_back(loss);
  state_.evaluated = true;
  if (options_.patience > 0 && best) {
    state_.best = parts_.changes->parameters();
  }
  BeginNext();
}

absl::Status TrainingRun::FinishGradient() {
  if (!parts_.objective->compares()) {
    batch_loss_ += pass_.loss();
  }
  if (accumulated_ == 0) {
    TakeExampleGradients();
  }
  if (++accumulated_ < options_.accumulate) {
    BeginBatch();
    return absl::OkStatus();
  }
  if (parts_.remembered != nullptr && options_.ewc.strength > 0) {
    penalty_ = AddEwcPenalty(*parts_.remembered, options_.ewc.strength,
                             parts_.changes->parameters(), gradient_);
  }
  gradient_norm_ = ClipNorm(gradient_, options_.clip_norm);
  if (!std::isfinite(gradient_norm_)) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "training diverged in step {}; lower the learning rate", state_.step);
  }
  const double share =
      LearningRateShare(options_.schedule, state_.step, static_cast<uint64_t>(options_.steps));
  optimizer_.Step(gradient_, options_.learning_rate * share, parts_.changes->parameters());
  loss_ = batch_loss_;
  state_.fisher = next_fisher_;
  ++state_.step;
  state_.evaluated = false;
  BeginNext();
  return absl::OkStatus();
}

void TrainingRun::BeginNext() {
  if (EvaluationIsDue()) {
    BeginEvaluation();
  } else if (state_.step < static_cast<uint64_t>(options_.steps) && !ShouldStopEarly()) {
    BeginStep();
  } else {
    phase_ = Phase::kDone;
    if (!state_.best.empty()) {
      parts_.changes->parameters() = state_.best;
    }
  }
}

uint64_t TrainingRun::bytes() const {
  const size_t floats = parts_.changes->parameters().size() + gradient_.capacity() +
                        example_gradients_.capacity() + state_.best.capacity();
  const size_t doubles = optimizer_.state().first.size() + optimizer_.state().second.size() +
                         state_.fisher.capacity() + next_fisher_.capacity();
  return pass_.bytes() + held_out_prefix_.bytes() + frozen_.bytes() + floats * sizeof(float) +
         doubles * sizeof(double);
}

std::string TrainingRun::Checkpoint() const {
  RunState state = state_;
  state.parameters = parts_.changes->parameters();
  state.optimizer = optimizer_.state();
  return EncodeRunState(state);
}

absl::Status TrainingRun::Restore(std::span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(RunState state, DecodeRunState(bytes));
  if (state.task != state_.task || state.seed != state_.seed ||
      state.step > static_cast<uint64_t>(options_.steps) ||
      state.parameters.size() != parts_.changes->parameters().size() ||
      !optimizer_.Restore(std::move(state.optimizer))) {
    return Invalid("the checkpoint belongs to another training run; start this one anew");
  }
  parts_.changes->parameters() = std::move(state.parameters);
  state_.step = state.step;
  state_.held_out = std::move(state.held_out);
  state_.best = std::move(state.best);
  state_.fisher = std::move(state.fisher);
  state_.evaluated = state.evaluated;
  BeginNext();
  return absl::OkStatus();
}

}  // namespace ruvd::inference::train
