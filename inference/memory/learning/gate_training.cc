// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/learning/gate_training.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "base/status.h"
#include "inference/numerics/optimizer.h"

namespace ruvd::inference {
namespace {

constexpr size_t kPiece = 512;  // examples whose sums are added together
constexpr double kLeastMixture = 1e-9;
constexpr float kLeastDeviation = 1e-3F;
constexpr float kFirstBias = -4;  // a share of 0.02

// Where the trained parameters are in MemoryGate::Flatten
constexpr size_t kHiddenAt = 2 * kMemoryFeatures;
constexpr size_t kHiddenBiasAt = kHiddenAt + MemoryGate::kHidden * kMemoryFeatures;
constexpr size_t kOutputAt = kHiddenBiasAt + MemoryGate::kHidden;
constexpr size_t kDirectAt = kOutputAt + MemoryGate::kHidden;
constexpr size_t kBiasAt = kDirectAt + kMemoryFeatures;

struct Sums {
  double loss = 0;
  std::array<float, MemoryGate::kParameters> gradient{};
};

void AddExample(const MemoryGate& gate, const GateExample& example, double total, Sums* sums) {
  const MemoryFeatures x = gate.Standardise(example.features);
  std::array<float, MemoryGate::kHidden> active;
  float logit = gate.bias;
  for (size_t i = 0; i < kMemoryFeatures; ++i) {
    logit += gate.direct[i] * x[i];
  }
  for (size_t h = 0; h < MemoryGate::kHidden; ++h) {
    float sum = gate.hidden_bias[h];
    for (size_t i = 0; i < kMemoryFeatures; ++i) {
      sum += gate.hidden[h * kMemoryFeatures + i] * x[i];
    }
    active[h] = std::tanh(sum);
    logit += gate.output[h] * active[h];
  }
  const double share = 1 / (1 + std::exp(-static_cast<double>(logit)));
  const double model = static_cast<double>(example.model);
  const double memory = static_cast<double>(example.memory);
  const double mixture = std::max((1 - share) * model + share * memory, kLeastMixture);
  const double weight = static_cast<double>(example.weight) / total;
  sums->loss -= weight * std::log(mixture);
  const auto slope = static_cast<float>(-weight * (memory - model) / mixture * share * (1 - share));
  auto& gradient = sums->gradient;
  gradient[kBiasAt] += slope;
  for (size_t i = 0; i < kMemoryFeatures; ++i) {
    gradient[kDirectAt + i] += slope * x[i];
  }
  for (size_t h = 0; h < MemoryGate::kHidden; ++h) {
    gradient[kOutputAt + h] += slope * active[h];
    const float inner = slope * gate.output[h] * (1 - active[h] * active[h]);
    gradient[kHiddenBiasAt + h] += inner;
    for (size_t i = 0; i < kMemoryFeatures; ++i) {
      gradient[kHiddenAt + h * kMemoryFeatures + i] += inner * x[i];
    }
  }
}

// Sets the mean and the scale of the features.
void SetStatistics(std::span<const GateExample> examples, MemoryGate* gate) {
  const auto count = static_cast<double>(examples.size());
  for (size_t i = 0; i < kMemoryFeatures; ++i) {
    double sum = 0;
    double squares = 0;
    for (const GateExample& example : examples) {
      sum += static_cast<double>(example.features[i]);
    }
    const double mean = sum / count;
    for (const GateExample& example : examples) {
      const double distance = static_cast<double>(example.features[i]) - mean;
      squares += distance * distance;
    }
    gate->mean[i] = static_cast<float>(mean);
    gate->scale[i] = 1 / std::max(static_cast<float>(std::sqrt(squares / count)), kLeastDeviation);
  }
}

}  // namespace

double GateLoss(ParallelRunner& runner, const MemoryGate& gate,
                std::span<const GateExample> examples, std::span<float> gradient) {
  double total = 0;
  for (const GateExample& example : examples) {
    total += static_cast<double>(example.weight);
  }
  std::vector<Sums> sums((examples.size() + kPiece - 1) / kPiece);
  runner.For(sums.size(), 1, [&](size_t begin, size_t end) {
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t first = piece * kPiece;
      for (const GateExample& example :
           examples.subspan(first, std::min(kPiece, examples.size() - first))) {
        AddExample(gate, example, total, &sums[piece]);
      }
    }
  });
  double loss = 0;
  for (const Sums& one : sums) {
    loss += one.loss;
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] += one.gradient[i];
    }
  }
  return loss;
}

MemoryGate TrainGate(ParallelRunner& runner, std::span<const GateExample> examples,
                     const GateTrainingOptions& options) {
  RUVD_CHECK(!examples.empty());
  MemoryGate gate;
  SetStatistics(examples, &gate);
  Random random(options.seed);
  const double bound = 1 / std::sqrt(static_cast<double>(kMemoryFeatures));
  for (float& value : gate.hidden) {
    value = static_cast<float>((2 * random.Uniform() - 1) * bound);
  }
  for (float& value : gate.hidden_bias) {
    value = static_cast<float>((2 * random.Uniform() - 1) * bound);
  }
  gate.bias = kFirstBias;
  // The statistics of the features are no parameters of the training.
  constexpr size_t kTrained = MemoryGate::kParameters - kHiddenAt;
  train::Optimizer optimizer(kTrained, {.beta2 = 0.999});
  auto values = gate.Flatten();
  std::array<float, MemoryGate::kParameters> gradient;
  for (int step = 0; step < options.steps; ++step) {
    gradient.fill(0);
    GateLoss(runner, gate, examples, gradient);
    const double rate = options.learning_rate * (1 - static_cast<double>(step) / options.steps);
    optimizer.Step(std::span<const float>(gradient).subspan(kHiddenAt), rate,
                   std::span(values).subspan(kHiddenAt));
    gate = MemoryGate::FromFlat(values);
  }
  return gate;
}

}  // namespace ruvd::inference
