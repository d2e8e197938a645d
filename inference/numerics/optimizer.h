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
    kAdamW,  // bias-corrected, with decoupled decay (arXiv 1711.05101)
    kSgd,    // x -= rate * (v + decay * x), v = momentum * v + gradient
  };
  Kind kind = Kind::kAdamW;
  double beta1 = 0.9;
  double beta2 = 0.99;  // runs are short: with a longer memory the bias would never vanish
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;  // used by kSgd
};

// The state that an optimiser keeps between steps.
struct OptimizerState {
  uint64_t steps = 0;
  std::vector<double> first;   // AdamW: running mean of the gradient; SGD: velocity
  std::vector<double> second;  // AdamW: running mean of the squared gradient; SGD: empty
  bool operator==(const OptimizerState&) const = default;
};

// Consecutive parameters that share their training settings.
struct ParameterGroup {
  size_t count = 0;
  double rate = 1;  // factor of the learning rate
  // the share of its value that a parameter loses after each step, whatever the learning rate
  double decay = 0;
};

// The state is in double precision, so that many small updates do not vanish. Not thread-safe.
class Optimizer {
 public:
  // `groups` must cover all parameters; if empty, one group covers all of them.
  Optimizer(size_t parameters, const OptimizerOptions& options,
            std::vector<ParameterGroup> groups = {});
  void Step(std::span<const float> gradient, double learning_rate, std::span<float> parameters);

  const OptimizerState& state() const { return state_; }
  // Returns false, and changes nothing, if the sizes differ from those of this optimiser.
  bool Restore(OptimizerState state);

 private:
  // These functions update parameters [begin, end).
  void StepAdamW(size_t begin, size_t end, std::span<const float> gradient, double learning_rate,
                 std::span<float> parameters);
  void StepSgd(size_t begin, size_t end, std::span<const float> gradient, double learning_rate,
               std::span<float> parameters);

  OptimizerOptions options_;
  std::vector<ParameterGroup> groups_;
  OptimizerState state_;
};

// Returns the Euclidean norm, summed in double precision.
double Norm(std::span<const float> gradient);
// Scales the gradient down to at most this Euclidean norm. Returns the norm it had before.
double ClipNorm(std::span<float> gradient, double limit);

// How the learning rate changes during a run.
struct ScheduleOptions {
  enum class Kind : uint8_t {
    kConstant,
    kLinear,    // falls to `final_share`
    kCosine,    // falls to `final_share` along half a cosine
    kOneCycle,  // a cosine rise from 1/25 during the warm-up, then a cosine fall (arXiv 1708.07120)
  };
  Kind kind = Kind::kLinear;
  double warm_up = 0.1;      // share of the steps; a straight rise except for kOneCycle
  double final_share = 0.1;  // share of the full rate at the end
};

// Returns the share of the full learning rate at a step with 0 <= step < steps.
double LearningRateShare(const ScheduleOptions& options, uint64_t step, uint64_t steps);

}  // namespace ruvd::inference::train
