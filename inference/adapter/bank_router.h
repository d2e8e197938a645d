// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// The routing network of attention over timestep banks. It maps the masked share t and the query's
// embedding e to weights of the banks,
//   q = tanh(W [f(t); e] + b),   weights = softmax(K q / sqrt(hidden)),
// with one key (a row of K) for each bank and f(t) = cos(pi j t) for j = 1 .. kTimeFeatures. All
// numbers are double. Immutable except for its parameters; thread-safe while no thread changes
// them.
class BankRouter {
 public:
  static constexpr size_t kTimeFeatures = 4;

  // Creates a router with all parameters zero, which gives uniform weights.
  BankRouter(size_t banks, size_t embedding, size_t hidden);
  // Returns a router with small random W, and b and K zero: the weights are uniform and can be
  // trained.
  static BankRouter Start(size_t banks, size_t embedding, size_t hidden, uint64_t seed);

  size_t banks() const { return banks_; }
  size_t embedding() const { return embedding_; }
  size_t hidden() const { return hidden_; }
  // The parameters are W (hidden x (kTimeFeatures + embedding)), b (hidden) and K (banks x hidden),
  // one after the other.
  std::span<double> parameters() { return parameters_; }
  std::span<const double> parameters() const { return parameters_; }
  std::span<const double> input() const;
  std::span<const double> bias() const;
  std::span<const double> keys() const;

  // `query` has embedding() values, or is empty and then counts as zeros. `weights` has banks()
  // values.
  void Route(double t, std::span<const float> query, std::span<float> weights) const;

  // Returns the expected loss, the sum over k of weights[k] * losses[k]. Adds its derivative with
  // respect to the parameters to `gradient`, in their order.
  double AddGradient(double t, std::span<const float> query, std::span<const double> losses,
                     std::span<double> gradient) const;

 private:
  struct Activations {
    std::vector<double> q;
    std::vector<double> weights;
  };
  Activations Forward(double t, std::span<const float> query) const;

  size_t banks_;
  size_t embedding_;
  size_t hidden_;
  std::vector<double> parameters_;
};

// One training sample of a router: the loss of each bank on the same text at the same t.
struct RoutingSample {
  float t = 0;
  std::vector<float> query;
  std::vector<double> losses;  // one for each bank, in nats
};

struct RouterTraining {
  size_t hidden = 16;
  int epochs = 200;
  size_t batch = 32;
  double learning_rate = 0.01;
  double weight_decay = 1e-3;
  uint64_t seed = 1;
};

// Returns the router that minimises the expected loss over the samples, by AdamW on shuffled
// batches. Its parameters are rounded to float32, as files store them. Equal input gives an equal
// router. INVALID_ARGUMENT for no samples, samples of different sizes, values that are not finite,
// or a number out of range.
absl::StatusOr<BankRouter> TrainRouter(std::span<const RoutingSample> samples,
                                       const RouterTraining& training);

}  // namespace ruvd::inference
