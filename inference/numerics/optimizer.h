// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ruvd::inference::train {

struct OptimizerOptions {
  enum class Kind : uint8_t {
    kAdamW,  // bias-corrected, decay decoupled (arXiv 1711.05101)
    kSgd,    // x -= rate * (v + decay * x), v = momentum * v + gradient
  };
  Kind kind = Kind::kAdamW;
  double beta1 = 0.9;
  double beta2 = 0.99;  // short runs: a longer memory would never leave its bias
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;  // of kSgd
};

// What an optimiser remembers.
struct OptimizerState {
  uint64_t steps = 0;
  std::vector<double> first;   // AdamW: mean of the gradient; SGD: velocity
  std::vector<double> second;  // AdamW: mean of its square; SGD: empty
  bool operator==(const OptimizerState&) const = default;
};

// Parameters one behind the other that are trained alike.
struct ParameterGroup {
  size_t count = 0;
  double rate = 1;   // their share of the learning rate
  double decay = 0;  // share of themselves that they lose after each step, whatever the rate
};

// State in double, so that many small updates do not vanish. Not thread-safe.
class Optimizer {
 public:
  // `groups` cover all parameters; empty: one of all of them.
  Optimizer(size_t parameters, const OptimizerOptions& options,
            std::vector<ParameterGroup> groups = {});
  void Step(std::span<const float> gradient, double learning_rate, std::span<float> parameters);

  const OptimizerState& state() const { return state_; }
  // False, and no change, where the sizes differ from those of this optimiser.
  bool Restore(OptimizerState state);

 private:
  // Of parameters [begin, end).
  void StepAdamW(size_t begin, size_t end, std::span<const float> gradient, double learning_rate,
                 std::span<float> parameters);
  void StepSgd(size_t begin, size_t end, std::span<const float> gradient, double learning_rate,
               std::span<float> parameters);

  OptimizerOptions options_;
  std::vector<ParameterGroup> groups_;
  OptimizerState state_;
};

// Euclidean norm, summed in double.
double Norm(std::span<const float> gradient);
// Scales the gradient to at most this Euclidean norm; returns the norm it had.
double ClipNorm(std::span<float> gradient, double limit);

// How the learning rate goes over a run.
struct ScheduleOptions {
  enum class Kind : uint8_t {
    kConstant,
    kLinear,    // down to `final_share`
    kCosine,    // the same on half a cosine
    kOneCycle,  // a cosine up from 1/25 over the warm-up, then one down (arXiv 1708.07120)
  };
  Kind kind = Kind::kLinear;
  double warm_up = 0.1;      // share of the steps; but for kOneCycle a straight line up
  double final_share = 0.1;  // of the full rate, at the end
};

// Share of the full learning rate at step 0 <= step < steps.
double LearningRateShare(const ScheduleOptions& options, uint64_t step, uint64_t steps);

}  // namespace ruvd::inference::train
