// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace ruvd::inference {

// How sure the model is of one masked position.
struct PositionUncertainty {
  float entropy = 0;     // divided by log(vocabulary): 0 to 1
  float margin = 0;      // likeliest minus second-likeliest probability
  float confidence = 0;  // probability of the proposed token
  // KL divergence from the previous step over the tokens kept from that step, in nats
  // (StabilityTracker); infinite if the position was not seen before.
  float movement = std::numeric_limits<float>::infinity();
};

// A summary of the masked positions of a step.
struct StepUncertainty {
  float t = 0;  // masked share of the active window before the step
  int positions = 0;
  float entropy = 0;              // mean
  float margin = 0;               // mean
  float confidence_variance = 0;  // across positions
  float movement = 0;             // mean over the positions that have one; 0 where none has
};

// Returns zeros if there are no positions.
StepUncertainty UncertaintyOf(std::span<const PositionUncertainty> positions, float t);

// Running mean and variance of a value that depends on t, in ten bins of t. Entropy is high in
// every early step, so whether a value is unusual can only be said within a bin. The method is
// Welford's recurrence with exponential forgetting (West 1979): the weight of a value falls by the
// factor `decay` with each later value of its bin. Not thread-safe.
class TimestepStatistics {
 public:
  static constexpr int kBins = 10;
  // With fewer values than this, the spread is unknown.
  static constexpr int kMinValues = 8;

  // `decay` in (0, 1].
  explicit TimestepStatistics(float decay = 0.99F) : decay_(decay) {}

  // Ignores values that are not finite.
  void Add(float t, float value);
  // Returns how many standard deviations `value` lies above the mean of its bin; 0 if the bin has
  // fewer than kMinValues values or they are all equal.
  float ZScore(float t, float value) const;
  double Mean(float t) const { return BinOf(t).mean; }
  // Returns the weighted population variance.
  double Variance(float t) const;
  int64_t Count(float t) const { return BinOf(t).count; }

 private:
  struct Bin {
    double weight = 0;
    double mean = 0;
    double squares = 0;  // weighted, about the mean
    int64_t count = 0;
  };
  static size_t IndexOf(float t);
  const Bin& BinOf(float t) const { return bins_[IndexOf(t)]; }

  float decay_;
  std::array<Bin, kBins> bins_;
};

}  // namespace ruvd::inference
