// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/bank_router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/limits.h"
#include "inference/limits.h"
#include "inference/numerics/dense.h"
#include "inference/numerics/optimizer.h"

namespace ruvd::inference {
namespace {

// Returns f(t).
std::array<double, BankRouter::kTimeFeatures> TimeFeatures(double t) {
  std::array<double, BankRouter::kTimeFeatures> features;
  for (size_t j = 0; j < features.size(); ++j) {
    features[j] = std::cos(std::numbers::pi * static_cast<double>(j + 1) * t);
  }
  return features;
}

absl::Status CheckSamples(std::span<const RoutingSample> samples, const RouterTraining& training) {
  const auto invalid = [](std::string_view what) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a router of timestep banks cannot be trained: {}", what);
  };
  if (samples.empty() || training.batch == 0 || training.hidden == 0 ||
      training.hidden > limits::kMaxRouterHidden || training.epochs < 1 ||
      training.epochs > limits::kMaxTrainingSteps) {
    return invalid("it needs samples, and a batch, hidden size and number of epochs in range");
  }
  for (const RoutingSample& sample : samples) {
    if (sample.query.size() != samples[0].query.size() ||
        sample.losses.size() != samples[0].losses.size() || sample.losses.empty() ||
        sample.losses.size() > limits::kMaxTimestepBanks) {
      return invalid("its samples have different sizes, or no banks, or too many banks");
    }
    const bool finite = std::isfinite(sample.t) &&
                        std::all_of(sample.query.begin(), sample.query.end(),
                                    [](float v) { return std::isfinite(v); }) &&
                        std::all_of(sample.losses.begin(), sample.losses.end(),
                                    [](double v) { return std::isfinite(v); });
    if (!finite) {
      return invalid("a sample has a value that is not finite");
    }
  }
  return absl::OkStatus();
}

}  // namespace

BankRouter::BankRouter(size_t banks, size_t embedding, size_t hidden)
    : banks_(banks),
      embedding_(embedding),
      hidden_(hidden),
      parameters_(hidden * (kTimeFeatures + embedding) + hidden + banks * hidden) {}

BankRouter BankRouter::Start(size_t banks, size_t embedding, size_t hidden, uint64_t seed) {
  BankRouter router(banks, embedding, hidden);
  Random random(seed);
  const double spread = 1 / std::sqrt(static_cast<double>(kTimeFeatures + 1));
  for (size_t i = 0; i < router.input().size(); ++i) {  // embeddings have length one, f(t) does not
    router.parameters_[i] = spread * random.Normal();
  }
  return router;
}

std::span<const double> BankRouter::input() const {
  return std::span(parameters_).first(hidden_ * (kTimeFeatures + embedding_));
}
std::span<const double> BankRouter::bias() const {
  return std::span(parameters_).subspan(input().size(), hidden_);
}
std::span<const double> BankRouter::keys() const {
  return std::span(parameters_).subspan(input().size() + hidden_);
}

BankRouter::Activations BankRouter::Forward(double t, std::span<const float> query) const {
  RUVD_CHECK(query.empty() || query.size() == embedding_);
  Activations result{.q = std::vector<double>(hidden_), .weights = std::vector<double>(banks_)};
  const size_t columns = kTimeFeatures + embedding_;
  const std::vector<double> wide(query.begin(), query.end());
  const std::array<double, kTimeFeatures> features = TimeFeatures(t);
  for (size_t h = 0; h < hidden_; ++h) {
    const double* w = parameters_.data() + h * columns;
    const double sum = bias()[h] + Dot(w, features.data(), kTimeFeatures);
    result.q[h] = std::tanh(sum + Dot(w + kTimeFeatures, wide.data(), wide.size()));
  }
  const double scale = 1 / std::sqrt(static_cast<double>(hidden_));
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < banks_; ++k) {
    for (size_t h = 0; h < hidden_; ++h) {
      result.weights[k] += scale * keys()[k * hidden_ + h] * result.q[h];
    }
    largest = std::max(largest, result.weights[k]);
  }
  double total = 0;
  for (double& weight : result.weights) {
    weight = std::exp(weight - largest);
    total += weight;
  }
  for (double& weight : result.weights) {
    weight /= total;
  }
  return result;
}

void BankRouter::Route(double t, std::span<const float> query, std::span<float> weights) const {
  const Activations activations = Forward(t, query);
  std::transform(activations.weights.begin(), activations.weights.end(), weights.begin(),
                 [](double weight) { return static_cast<float>(weight); });
}

double BankRouter::AddGradient(double t, std::span<const float> query,
                               std::span<const double> losses, std::span<double> gradient) const {
  RUVD_CHECK(losses.size() == banks_ && gradient.size() == parameters_.size());
  const Activations activations = Forward(t, query);
  const double loss =
      std::inner_product(losses.begin(), losses.end(), activations.weights.begin(), 0.0);
  const double scale = 1 / std::sqrt(static_cast<double>(hidden_));
  const size_t columns = kTimeFeatures + embedding_;
  const size_t first_key = input().size() + hidden_;
  const std::array<double, kTimeFeatures> features = TimeFeatures(t);
  std::vector<double> dq(hidden_);
  for (size_t k = 0; k < banks_; ++k) {
    // The derivative of softmax is dL/dscore_k = w_k (losses_k - L).
    const double score = activations.weights[k] * (losses[k] - loss) * scale;
    for (size_t h = 0; h < hidden_; ++h) {
      gradient[first_key + k * hidden_ + h] += score * activations.q[h];
      dq[h] += score * keys()[k * hidden_ + h];
    }
  }
  for (size_t h = 0; h < hidden_; ++h) {
    const double before = dq[h] * (1 - activations.q[h] * activations.q[h]);
    gradient[input().size() + h] += before;
    for (size_t j = 0; j < kTimeFeatures; ++j) {
      gradient[h * columns + j] += before * features[j];
    }
    for (size_t i = 0; i < query.size(); ++i) {
      gradient[h * columns + kTimeFeatures + i] += before * static_cast<double>(query[i]);
    }
  }
  return loss;
}

absl::StatusOr<BankRouter> TrainRouter(std::span<const RoutingSample> samples,
                                       const RouterTraining& training) {
  RETURN_IF_ERROR(CheckSamples(samples, training));
  Random random(training.seed);
  BankRouter router = BankRouter::Start(samples[0].losses.size(), samples[0].query.size(),
                                        training.hidden, random.Next());
  const size_t count = router.parameters().size();
  std::vector<float> parameters(router.parameters().begin(), router.parameters().end());
  train::Optimizer adam(count, {.weight_decay = training.weight_decay});
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (int epoch = 0; epoch < training.epochs; ++epoch) {
    random.Shuffle(std::span(order));
    for (size_t begin = 0; begin < order.size(); begin += training.batch) {
      const size_t end = std::min(begin + training.batch, order.size());
      std::vector<double> sum(count);
      for (size_t i = begin; i < end; ++i) {
        const RoutingSample& sample = samples[order[i]];
        router.AddGradient(static_cast<double>(sample.t), sample.query, sample.losses, sum);
      }
      std::vector<float> gradient(count);
      std::transform(sum.begin(), sum.end(), gradient.begin(), [&](double value) {
        return static_cast<float>(value / static_cast<double>(end - begin));
      });
      adam.Step(gradient, training.learning_rate, parameters);
      std::copy(parameters.begin(), parameters.end(), router.parameters().begin());
    }
  }
  return router;
}

}  // namespace ruvd::inference
