// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace ruvd::inference {

// What the gate knows about one position: what the model says, what the memory says, and how much
// the text that can be seen is like what the memory holds.
enum class MemoryFeature : size_t {
  kModelTop,       // log probability of the model's likeliest token, at least -9.2
  kModelEntropy,   // in nats
  kTimestep,       // masked share of the window; 0 when read from left to right
  kLogMasked,      // log of the number of masked tokens; 0 when read from left to right
  kLeftSeen,       // 1 if the left neighbour is known, else 0
  kRightSeen,      // likewise for the right neighbour
  kMemoryTop,      // log of the memory's largest probability, at least log 1e-4
  kMemoryOfModel,  // log of the memory's probability of the model's likeliest token
  kAgree,          // 1 if both have the same likeliest token, else 0
  kLogMass,        // log of the sum of exp(score) over all entries
  kBestScore,      // the largest score
  kBestCosine,     // the largest cosine
  kLogEntries,     // log of the number of entries
  kModelOfMemory,  // log of the model's probability of the memory's likeliest token, at least -12
  kWordRatio,      // mean over the seen tokens of log (memory's frequency / public frequency)
  kSharedPairs,    // share of the seen pairs of adjacent tokens that the memory has
  kCount,
};
inline constexpr size_t kMemoryFeatures = static_cast<size_t>(MemoryFeature::kCount);
using MemoryFeatures = std::array<float, kMemoryFeatures>;

inline float& At(MemoryFeatures& features, MemoryFeature feature) {
  return features[static_cast<size_t>(feature)];
}
inline float At(const MemoryFeatures& features, MemoryFeature feature) {
  return features[static_cast<size_t>(feature)];
}

// Decides how much the memory is trusted at a position: a network of one hidden layer beside a
// linear term, on features that are standardised and cut off at kFeatureBound standard deviations:
//   share = sigmoid(output . tanh(hidden x + hidden_bias) + direct . x + bias)
// learning/gate_training.h fits it. It is a plain value.
struct MemoryGate {
  static constexpr size_t kHidden = 24;
  static constexpr float kFeatureBound = 3;

  std::array<float, kMemoryFeatures> mean{};
  std::array<float, kMemoryFeatures> scale{};             // one over the standard deviation
  std::array<float, kHidden * kMemoryFeatures> hidden{};  // row by row
  std::array<float, kHidden> hidden_bias{};
  std::array<float, kHidden> output{};
  std::array<float, kMemoryFeatures> direct{};
  float bias = 0;

  bool operator==(const MemoryGate&) const = default;

  // Returns the features as the network reads them.
  MemoryFeatures Standardise(const MemoryFeatures& features) const;
  // Returns the logit of the share.
  float Logit(const MemoryFeatures& features) const;
  // Returns the share of the memory in the mixture, between 0 and 1.
  float Share(const MemoryFeatures& features) const;

  // The parameters as one list in the order above, for files and training; kParameters values.
  static constexpr size_t kParameters =
      3 * kMemoryFeatures + kHidden * kMemoryFeatures + 2 * kHidden + 1;
  std::array<float, kParameters> Flatten() const;
  static MemoryGate FromFlat(std::span<const float, kParameters> values);
};

}  // namespace ruvd::inference
