// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/orthonormal.h"
#include "inference/limits.h"
#include "inference/train/masks.h"
#include "inference/train/optimizer.h"
#include "inference/train/tail.h"
#include "inference/train/tail_weights.h"

namespace ruvd {
namespace {

using train::Change;
using train::MaskDraw;
using train::MaskStream;
using train::ModelTail;
using train::TailLinear;

constexpr double kClipNorm = 1.0;
// Separates the held-out masks from the training masks of the same seed.
constexpr uint64_t kHeldOutStream = 0x68656c646f757421ULL;

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::Status CheckExamples(const Model& model, std::span<const TrainingExample> examples) {
  if (examples.empty() || examples.size() > limits::kMaxTrainingExamples) {
    return Invalid("training takes 1 to {} examples, not {}", limits::kMaxTrainingExamples,
                   examples.size());
  }
  const auto vocabulary = static_cast<TokenId>(model.config().vocabulary);
  for (const TrainingExample& example : examples) {
    const size_t length = example.prompt.size() + example.completion.size();
    if (example.completion.empty() || !std::isfinite(example.weight)) {
      return Invalid("a training example needs a completion and a finite weight");
    }
    if (length > static_cast<size_t>(model.config().context)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                   "a training example of {} tokens exceeds the context of {}; shorten it", length,
                   model.config().context);
    }
    const auto outside = [&](TokenId token) { return token >= vocabulary; };
    if (std::any_of(example.prompt.begin(), example.prompt.end(), outside) ||
        std::any_of(example.completion.begin(), example.completion.end(), outside)) {
      return Invalid("a training example has a token outside the vocabulary of {}", vocabulary);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const Model& model, const TrainingOptions& options) {
  if (!model.tokenizer().mask_id().has_value()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
                 "the model has no mask token, so masked-diffusion training is impossible; use a "
                 "diffusion model");
  }
  if (options.steps < 1 || options.steps > limits::kMaxTrainingSteps || options.batch < 1 ||
      options.batch > limits::kMaxTrainingBatch || options.held_out_samples < 1 ||
      options.held_out_samples > limits::kMaxHeldOutSamples) {
    return Invalid("steps must be 1 to {}, batch 1 to {}, held_out_samples 1 to {}",
                   limits::kMaxTrainingSteps, limits::kMaxTrainingBatch,
                   limits::kMaxHeldOutSamples);
  }
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0 ||
      !std::isfinite(options.weight_clamp) || options.weight_clamp <= 0) {
    return Invalid(
        "learning_rate must be a number of at least 0 (0: the default), weight_clamp above 0");
  }
  return absl::OkStatus();
}

// One training run of one change of the last layer.
class Run {
 public:
  Run(Transformer& transformer, std::span<const TrainingExample> examples, const AdapterMix* base,
      const TrainingOptions& options, TailLinear site, Change<float>& change,
      float default_learning_rate)
      : transformer_(transformer),
        examples_(examples),
        base_(base),
        options_(options),
        change_(change),
        learning_rate_(options.learning_rate > 0 ? options.learning_rate : default_learning_rate),
        weights_(transformer, base),
        tail_(weights_, site, &change) {}

  // Fills all of the result but adapter and core.
  absl::Status Execute(TrainingResult* result) {
    RETURN_IF_ERROR(GatherHeldOut());
    ASSIGN_OR_RETURN(result->held_out_before, Evaluate());
    MaskStream masks(examples_, options_.seed);
    train::AdamW optimizer(change_.parameters().size(), {});
    for (int step = 0; step < options_.steps; ++step) {
      RETURN_IF_ERROR(ComputeGradient(masks.Draw(options_.batch)));
      if (!std::isfinite(train::ClipNorm(change_.gradient(), kClipNorm))) {
        return Error(absl::StatusCode::kInternal, reasons::kInternal,
                     "training diverged in step {}; lower the learning rate", step);
      }
      optimizer.Step(change_.gradient(),
                     learning_rate_ * train::LearningRateShare(step, options_.steps),
                     change_.parameters());
      result->steps = step + 1;
    }
    ASSIGN_OR_RETURN(result->held_out_after, Evaluate());
    return absl::OkStatus();
  }

 private:
  absl::Status CheckCancelled() const {
    return options_.cancelled && options_.cancelled()
               ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                       "training was cancelled; start it again to learn this")
               : absl::OkStatus();
  }

  // Activations of masks that training never sees, once for both scores: nothing before the tail
  // depends on the change.
  absl::Status GatherHeldOut() {
    MaskStream masks(examples_, options_.seed ^ kHeldOutStream);
    size_t tokens = 0;
    for (const TrainingExample& example : examples_) {
      tokens += example.completion.size();
    }
    const size_t mean_length = std::max<size_t>(1, tokens / examples_.size());
    const auto affordable = static_cast<int>(2 * limits::kMaxHeldOutRows / mean_length);
    const int samples = std::clamp(options_.held_out_samples, 1, std::max(1, affordable));
    for (const MaskDraw& draw : masks.Draw(samples)) {
      RETURN_IF_ERROR(CheckCancelled());
      const double weight = 1.0 / static_cast<double>(draw.positions.size()) / samples;
      RETURN_IF_ERROR(train::AppendRows(transformer_, examples_[draw.example], draw, base_,
                                        static_cast<float>(weight), &held_out_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> Evaluate() {
    double loss = 0;
    for (size_t row = 0; row < held_out_.size(); row += limits::kTailRows) {
      RETURN_IF_ERROR(CheckCancelled());
      loss += tail_.Run(held_out_, row, std::min(limits::kTailRows, held_out_.size() - row), false);
    }
    return loss;
  }

  absl::Status ComputeGradient(const std::vector<MaskDraw>& draws) {
    std::fill(change_.gradient().begin(), change_.gradient().end(), 0.0F);
    train::TailRows<float> rows;
    for (const MaskDraw& draw : draws) {
      RETURN_IF_ERROR(CheckCancelled());
      const TrainingExample& example = examples_[draw.example];
      const double weight = train::MaskWeight(draw.positions.size(), example.completion.size(),
                                              options_.weight_clamp) *
                            example.weight / static_cast<double>(draws.size());
      RETURN_IF_ERROR(
          train::AppendRows(transformer_, example, draw, base_, static_cast<float>(weight), &rows));
    }
    for (size_t row = 0; row < rows.size(); row += limits::kTailRows) {
      RETURN_IF_ERROR(CheckCancelled());
      tail_.Run(rows, row, std::min(limits::kTailRows, rows.size() - row), true);
    }
    return absl::OkStatus();
  }

  Transformer& transformer_;
  std::span<const TrainingExample> examples_;
  const AdapterMix* base_;
  const TrainingOptions& options_;
  Change<float>& change_;
  double learning_rate_;
  ModelTail weights_;
  train::Tail<float> tail_;
  train::TailRows<float> held_out_;
};

absl::Status CheckInput(const Model& model, std::span<const TrainingExample> examples,
                        const TrainingOptions& options) {
  RETURN_IF_ERROR(CheckOptions(model, options));
  return CheckExamples(model, examples);
}

std::vector<float> InitialLora(int rank, const Matrix& matrix, uint64_t seed) {
  Random random(seed);
  const std::vector<double> a = OrthonormalRows(rank, matrix.columns, random);
  std::vector<float> parameters(a.begin(), a.end());
  parameters.resize(a.size() + static_cast<size_t>(rank) * static_cast<size_t>(matrix.rows));
  return parameters;
}

}  // namespace

absl::StatusOr<TrainingResult> TrainLastLayerLora(Transformer& transformer,
                                                  std::span<const TrainingExample> examples,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options) {
  const Model& model = transformer.model();
  RETURN_IF_ERROR(CheckInput(model, examples, options));
  ASSIGN_OR_RETURN(const TailLinear site, train::TailLinearFromName(options.target));
  const std::string tensor = train::TailTensor(model, site);
  const Matrix& matrix = *FindMatrix(model, tensor);
  const int largest = std::min({matrix.rows, matrix.columns, limits::kMaxAdapterRank});
  if (options.rank < 1 || options.rank > largest) {
    return Invalid("the rank must be 1 to {}, not {}", largest, options.rank);
  }
  train::LoraChange<float> change(
      static_cast<size_t>(options.rank), static_cast<size_t>(matrix.columns),
      static_cast<size_t>(matrix.rows), InitialLora(options.rank, matrix, options.seed));
  TrainingResult result;
  RETURN_IF_ERROR(
      Run(transformer, examples, base, options, site, change, kLoraLearningRate).Execute(&result));
  auto adapter = std::make_shared<Adapter>();
  adapter->name = options.name;
  adapter->version = options.version;
  adapter->model_hash = model.hash();
  adapter->targets[tensor] = {.rank = options.rank,
                              .in = matrix.columns,
                              .out = matrix.rows,
                              .a = {change.a().begin(), change.a().end()},
                              .b = {change.b().begin(), change.b().end()},
                              .scale = 1.0F};
  result.adapter = std::move(adapter);
  return result;
}

absl::StatusOr<TrainingResult> TrainLastLayerCore(Transformer& transformer, const Frame& frame,
                                                  std::span<const TrainingExample> examples,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options) {
  const Model& model = transformer.model();
  RETURN_IF_ERROR(CheckInput(model, examples, options));
  if (frame.model_hash != model.hash()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "the frame belongs to another model; make the frame of this one");
  }
  TailLinear site = TailLinear::kAttentionOutput;
  while (train::TailTensor(model, site) != frame.target) {
    if (site == TailLinear::kHead) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                   "the frame's target {} is not in the last layer; make another frame",
                   frame.target);
    }
    site = static_cast<TailLinear>(static_cast<int>(site) + 1);
  }
  train::CoreChange<float> change(static_cast<size_t>(frame.rank), static_cast<size_t>(frame.in),
                                  static_cast<size_t>(frame.out), frame.p, frame.q);
  TrainingResult result;
  RETURN_IF_ERROR(
      Run(transformer, examples, base, options, site, change, kCoreLearningRate).Execute(&result));
  result.core = change.parameters();
  ASSIGN_OR_RETURN(result.adapter,
                   AdapterFromCore(frame, result.core, options.name, options.version, 1.0F));
  return result;
}

}  // namespace ruvd
