// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::federation {

struct OuterOptions {
  enum class Kind : uint8_t {
    kPlain,     // move = step * delta
    kMomentum,  // v = momentum v + delta; move = step * v, or with nesterov step * (momentum v +
                // delta)
    kAdam,      // FedAdam (Reddi et al. 2021, "Adaptive federated optimization")
  };
  Kind kind = Kind::kPlain;
  double step = 1;  // above 0, at most 1

  // Used by kMomentum; 0 to below 1. With 0.9, Nesterov and step 0.7, five rounds were worse than
  // plain averages.
  double momentum = 0.9;
  bool nesterov = false;
  // Used by kAdam
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-3;  // added to the root; larger values are farther from sign steps
};

// Turns the aggregated deltas of rounds into moves of the global adapter. This is post-processing
// of released data, so it costs no privacy budget. The state is in double. Not thread-safe.
class OuterOptimizer {
 public:
  // The state that persists between rounds; vectors that a kind does not use are empty. The powers
  // are running products, because std::pow gives other last bits on other machines.
  struct State {
    uint64_t steps = 0;
    double beta1_power = 1;  // kAdam: beta1^steps and beta2^steps; else 1
    double beta2_power = 1;
    std::vector<double> first;   // velocity, or mean of the delta
    std::vector<double> second;  // mean of the squared delta
    double noise = 0;            // mean of the noise variance
    bool operator==(const State&) const = default;
  };
  // A move that may be committed or dropped; only Commit changes the state.
  struct Proposal {
    std::vector<float> move;
    State state;
  };

  // Makes an optimiser for this many values. Returns INVALID_ARGUMENT for an option out of range.
  static absl::StatusOr<OuterOptimizer> Create(size_t values, const OuterOptions& options);
  // Continues from a saved state. INVALID_ARGUMENT also for a state of another size or kind, or
  // with values that no round produces.
  static absl::StatusOr<OuterOptimizer> Restore(size_t values, const OuterOptions& options,
                                                State state);
  const State& state() const { return state_; }

  // Returns the move for a delta. `delta` must hold as many values as the optimiser.
  // `noise_variance` is the variance of the privacy noise in each value, at least 0: kAdam
  // subtracts its running mean from the second moment, which the noise would otherwise dominate
  // (Tang, Shpilevskiy and Lecuyer 2024, "DP-AdamBC", arXiv 2312.14334), and keeps at least a
  // quarter of that mean; the other kinds do not read it.
  Proposal Propose(std::span<const float> delta, double noise_variance) const;
  void Commit(Proposal proposal);

 private:
  OuterOptimizer(size_t values, const OuterOptions& options);

  OuterOptions options_;
  State state_;
};

}  // namespace ruvd::federation
