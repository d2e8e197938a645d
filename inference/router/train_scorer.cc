// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/train_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/limits.h"

namespace ruvd::inference {
namespace {

class Adam {
 public:
  Adam(size_t parameters, double learning_rate)
      : rate_(learning_rate), first_(parameters), second_(parameters) {}

  void Step(std::span<const double> gradient, std::span<double> parameters) {
    constexpr double kBeta1 = 0.9;
    constexpr double kBeta2 = 0.999;
    constexpr double kEpsilon = 1e-8;
    ++steps_;
    const double correct1 = 1 - std::pow(kBeta1, steps_);
    const double correct2 = 1 - std::pow(kBeta2, steps_);
    for (size_t i = 0; i < parameters.size(); ++i) {
      first_[i] = kBeta1 * first_[i] + (1 - kBeta1) * gradient[i];
      second_[i] = kBeta2 * second_[i] + (1 - kBeta2) * gradient[i] * gradient[i];
      parameters[i] -=
          rate_ * (first_[i] / correct1) / (std::sqrt(second_[i] / correct2) + kEpsilon);
    }
  }

 private:
  double rate_;
  int steps_ = 0;
  std::vector<double> first_;
  std::vector<double> second_;
};

// The parameters that may differ from 0.
class Support {
 public:
  Support(const Scorer& scorer, double density) : matrices_(scorer.matrices()), density_(density) {
    kept_.assign(scorer.parameters().size(), true);
  }

  // Keeps the largest entries of each matrix.
  void Choose(std::span<const double> parameters) {
    for (const Scorer::Range& matrix : matrices_) {
      std::vector<size_t> order(matrix.size);
      std::iota(order.begin(), order.end(), matrix.begin);
      std::stable_sort(order.begin(), order.end(), [parameters](size_t a, size_t b) {
        return std::abs(parameters[a]) > std::abs(parameters[b]);
      });
      const auto kept = static_cast<size_t>(std::ceil(density_ * static_cast<double>(matrix.size)));
      for (size_t i = 0; i < order.size(); ++i) {
        kept_[order[i]] = i < kept;
      }
    }
  }
  void Apply(std::span<double> parameters) const {
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] = kept_[i] ? parameters[i] : 0;
    }
  }

 private:
  std::vector<Scorer::Range> matrices_;
  double density_;
  std::vector<bool> kept_;
};

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a router cannot be trained: {}", what);
}

absl::Status Check(std::span<const RoutingExample> examples, const ScorerTraining& options,
                   const Scorer& scorer) {
  if (examples.empty() || examples.size() > limits::kMaxRouterExamples) {
    return Invalid("there are no examples or too many");
  }
  if (options.epochs < 1 || options.epochs > limits::kMaxRouterEpochs || options.batch < 1 ||
      !(options.learning_rate > 0) || !(options.density > 0) || options.density > 1 ||
      !(options.weight_decay >= 0)) {
    return Invalid("an option is out of range");
  }
  for (const RoutingExample& example : examples) {
    const bool finite = std::all_of(example.features.begin(), example.features.end(),
                                    [](double value) { return std::isfinite(value); });
    if (example.features.size() != scorer.shape().inputs || !finite || !(example.weight > 0) ||
        !std::isfinite(example.weight)) {
      return Invalid(
          "an example does not have the scorer's features, or has values that are not finite");
    }
  }
  return absl::OkStatus();
}

double MeanWeight(std::span<const RoutingExample> examples) {
  double sum = 0;
  for (const RoutingExample& example : examples) {
    sum += example.weight;
  }
  return sum / static_cast<double>(std::max<size_t>(1, examples.size()));
}

// Takes one step on a batch. Examples count by their weight relative to all examples, not to the
// batch; otherwise rare examples with a large weight would count less when several meet in a batch.
void Step(std::span<const RoutingExample> examples, std::span<const size_t> batch,
          double mean_weight, const ScorerTraining& options, Adam* adam, Scorer* scorer) {
  std::vector<double> gradient(scorer->parameters().size());
  const double all = static_cast<double>(batch.size()) * mean_weight;
  for (const size_t index : batch) {
    const RoutingExample& example = examples[index];
    const double error = Sigmoid(scorer->Logit(example.features)) - (example.good ? 1 : 0);
    scorer->AddGradient(example.features, error * example.weight / all, gradient);
  }
  for (const Scorer::Range& matrix : scorer->matrices()) {
    for (double& value : scorer->parameters().subspan(matrix.begin, matrix.size)) {
      value -= options.learning_rate * options.weight_decay * value;
    }
  }
  adam->Step(gradient, scorer->parameters());
}

// The logistic loss of calibrated logits against softened targets, and its Newton steps.
class CalibrationFit {
 public:
  CalibrationFit(const Scorer& scorer, std::span<const RoutingExample> examples)
      : examples_(examples) {
    // The targets depend on the number of examples, not on their weights.
    const auto good = static_cast<double>(std::ranges::count_if(examples, &RoutingExample::good));
    target_good_ = (good + 1) / (good + 2);
    target_bad_ = 1 / (static_cast<double>(examples.size()) - good + 2);
    logits_.reserve(examples.size());
    for (const RoutingExample& example : examples) {
      logits_.push_back(scorer.Logit(example.features));
    }
  }

  double LossOf(const Calibration& calibration) const {
    double loss = 0;
    for (size_t i = 0; i < logits_.size(); ++i) {
      const double scaled = calibration.slope * logits_[i] + calibration.offset;
      loss += examples_[i].weight * (TargetOf(i) * LogisticLoss(scaled, true) +
                                     (1 - TargetOf(i)) * LogisticLoss(scaled, false));
    }
    return loss;
  }

  // Returns by how much a Newton step lowers slope and offset.
  Calibration StepFrom(const Calibration& calibration) const {
    constexpr double kRidge = 1e-9;
    double g_slope = 0;
    double g_offset = 0;
    double h_slope = kRidge;
    double h_both = 0;
    double h_offset = kRidge;
    for (size_t i = 0; i < logits_.size(); ++i) {
      const double p = calibration.Probability(logits_[i]);
      const double error = examples_[i].weight * (p - TargetOf(i));
      const double curvature = examples_[i].weight * p * (1 - p);
      g_slope += error * logits_[i];
      g_offset += error;
      h_slope += curvature * logits_[i] * logits_[i];
      h_both += curvature * logits_[i];
      h_offset += curvature;
    }
    const double determinant = h_slope * h_offset - h_both * h_both;
    return {.slope = (h_offset * g_slope - h_both * g_offset) / determinant,
            .offset = (h_slope * g_offset - h_both * g_slope) / determinant};
  }

  // Moves by the step, halved until it lowers the loss. Returns false if no share of it does.
  bool Improve(Calibration* best, double* loss) const {
    constexpr double kMinShare = 1e-6;
    const Calibration step = StepFrom(*best);
    for (double share = 1; share > kMinShare; share /= 2) {
      const Calibration next{.slope = best->slope - share * step.slope,
                             .offset = best->offset - share * step.offset};
      if (const double next_loss = LossOf(next); next_loss < *loss) {
        *best = next;
        *loss = next_loss;
        return true;
      }
    }
    return false;
  }

 private:
  double TargetOf(size_t i) const { return examples_[i].good ? target_good_ : target_bad_; }

  std::span<const RoutingExample> examples_;
  std::vector<double> logits_;
  double target_good_ = 0;
  double target_bad_ = 0;
};

// Returns a calibration that ignores the scorer and says the share of good examples.
Calibration Unsure(std::span<const RoutingExample> examples) {
  const double mean_weight = MeanWeight(examples);
  double good = 0;
  for (const RoutingExample& example : examples) {
    good += example.good ? example.weight / mean_weight : 0;
  }
  const double bad = static_cast<double>(examples.size()) - good;
  return {.slope = 0, .offset = std::log((good + 1) / (bad + 1))};
}

}  // namespace

double LogisticLoss(double logit, bool good) {
  const double margin = good ? logit : -logit;
  return margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
}

absl::Status TrainScorer(std::span<const RoutingExample> examples, const ScorerTraining& options,
                         Random& random, Scorer* scorer) {
  RETURN_IF_ERROR(Check(examples, options, *scorer));
  Adam adam(scorer->parameters().size(), options.learning_rate);
  Support support(*scorer, options.density);
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const double mean_weight = MeanWeight(examples);
  constexpr int kStages = 3;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const int stage = options.density < 1 ? epoch * kStages / options.epochs : 0;
    random.Shuffle(std::span(order));
    for (size_t first = 0; first < order.size(); first += static_cast<size_t>(options.batch)) {
      const size_t count = std::min(static_cast<size_t>(options.batch), order.size() - first);
      Step(examples, std::span(order).subspan(first, count), mean_weight, options, &adam, scorer);
      if (stage == 1) {
        support.Choose(scorer->parameters());
      }
      if (stage > 0) {
        support.Apply(scorer->parameters());
      }
    }
  }
  if (options.density < 1 &&
      options.epochs < kStages) {  // there were too few epochs for the stages
    support.Choose(scorer->parameters());
    support.Apply(scorer->parameters());
  }
  return absl::OkStatus();
}

Calibration FitCalibration(const Scorer& scorer, std::span<const RoutingExample> examples) {
  constexpr int kMaxIterations = 50;
  if (examples.empty()) {
    return {};
  }
  const CalibrationFit fit(scorer, examples);
  const Calibration unsure = Unsure(examples);
  Calibration best = unsure;
  double loss = fit.LossOf(best);
  for (int i = 0; i < kMaxIterations && fit.Improve(&best, &loss); ++i) {
  }
  // With few examples the fit may reverse the scorer. Then a slope of 0, which ignores the scorer,
  // is the best slope that is not negative.
  return best.slope < 0 ? unsure : best;
}

}  // namespace ruvd::inference
