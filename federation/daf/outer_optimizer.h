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
  // kMomentum, 0 to below 1. With 0.9, Nesterov and step 0.7 five rounds lost to plain averages.
  double momentum = 0.9;
  bool nesterov = false;
  // kAdam.
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-3;  // added to the root: how far from sign steps
};

// What rounds' aggregated deltas move the global adapter by. Post-processing of what was released,
// so free under differential privacy. State in double. Not thread-safe.
class OuterOptimizer {
 public:
  // What lasts from round to round; vectors that a kind does not use are empty.
  struct State {
    uint64_t steps = 0;
    std::vector<double> first;   // velocity, or mean of the delta
    std::vector<double> second;  // mean of its square
    double noise = 0;            // mean of the noise's variance
    bool operator==(const State&) const = default;
  };
  // A move that may be committed or dropped: state only changes by Commit.
  struct Proposal {
    std::vector<float> move;
    State state;
  };

  // For this many values. INVALID_ARGUMENT for an option out of its range.
  static absl::StatusOr<OuterOptimizer> Create(size_t values, const OuterOptions& options);
  // Goes on from a saved state. INVALID_ARGUMENT also for one of another size or kind, or with
  // numbers that no round leaves.
  static absl::StatusOr<OuterOptimizer> Restore(size_t values, const OuterOptions& options,
                                                State state);
  const State& state() const { return state_; }

  // `delta` holds as many values. `noise_variance` is that of the privacy noise in each of them, 0
  // or more: kAdam takes its running mean off the second moment, which it would otherwise fill
  // (Tang, Shpilevskiy and Lecuyer 2024, "DP-AdamBC", arXiv 2312.14334), and leaves at least a
  // quarter of that mean; the others do not read it.
  Proposal Propose(std::span<const float> delta, double noise_variance) const;
  void Commit(Proposal proposal);

 private:
  OuterOptimizer(size_t values, const OuterOptions& options);

  OuterOptions options_;
  State state_;
};

}  // namespace ruvd::federation
