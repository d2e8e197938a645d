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
  // KL to the step before over the tokens that were kept of it, in nats (StabilityTracker);
  // infinite where the position was not seen before.
  float movement = std::numeric_limits<float>::infinity();
};

// The masked positions of a step, taken together.
struct StepUncertainty {
  float t = 0;  // masked share of the active window before the step
  int positions = 0;
  float entropy = 0;              // mean
  float margin = 0;               // mean
  float confidence_variance = 0;  // across positions
  float movement = 0;             // mean over the positions that have one; 0 where none has
};

// Zeros for no position.
StepUncertainty UncertaintyOf(std::span<const PositionUncertainty> positions, float t);

// Running mean and variance of a value that depends on t, a tenth of t at a time: entropy is high
// in every early step, so what is unusual can only be said within a bin. Welford's recurrence with
// exponential forgetting (West 1979): a value's weight falls by `decay` with every later one of its
// bin. Not thread-safe.
class TimestepStatistics {
 public:
  static constexpr int kBins = 10;
  // Fewer values than that say nothing about spread.
  static constexpr int kLeastValues = 8;

  // `decay` in (0, 1].
  explicit TimestepStatistics(float decay = 0.99F) : decay_(decay) {}

  // Values that are not finite are left out.
  void Add(float t, float value);
  // Standard deviations above the bin's mean; 0 where the bin has fewer than kLeastValues values or
  // none of them differed.
  float ZScore(float t, float value) const;
  double Mean(float t) const { return BinOf(t).mean; }
  // The weighted population variance.
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
