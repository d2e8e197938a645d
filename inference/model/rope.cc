// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

size_t RotatedValues(const ModelConfig& config) {
  return static_cast<size_t>(config.rope_dimensions > 0 ? config.rope_dimensions
                                                        : config.head_size);
}

// Returns the (fractional) index of the pair that turns `turns` times within the original context.
double PairThatTurns(const ModelConfig& config, double turns) {
  const double context = config.rope_scaling.original_context;
  return static_cast<double>(RotatedValues(config)) *
         std::log(context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(config.rope_base)));
}

// Returns how much of a pair's frequency YaRN divides by the factor: 0 for the fast pairs, 1 for
// the slow pairs.
double YarnShare(const ModelConfig& config, double pair) {
  const double last = static_cast<double>(RotatedValues(config)) - 1;
  const double low = std::max(
      0.0, std::floor(PairThatTurns(config, static_cast<double>(config.rope_scaling.beta_fast))));
  const double high = std::min(
      last, std::ceil(PairThatTurns(config, static_cast<double>(config.rope_scaling.beta_slow))));
  return std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
}

}  // namespace

std::vector<double> RopeFrequencies(const ModelConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const auto factor = static_cast<double>(scaling.factor);
  const size_t rotated = RotatedValues(config);
  std::vector<double> frequencies(rotated / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const auto pair = static_cast<double>(i);
    double frequency =
        std::pow(static_cast<double>(config.rope_base), -2.0 * pair / static_cast<double>(rotated));
    if (!config.rope_divisors.empty()) {
      frequency /= static_cast<double>(config.rope_divisors[i]);
    }
    if (scaling.kind == RopeScaling::Kind::kLinear) {
      frequency /= factor;
    } else if (scaling.kind == RopeScaling::Kind::kYarn) {
      const double share = YarnShare(config, pair);
      frequency *= share / factor + (1 - share);
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

double RopeMagnitude(const ModelConfig& config) {
  const RopeScaling& scaling = config.rope_scaling;
  const auto magnitude = static_cast<double>(scaling.attn_factor);
  return scaling.kind == RopeScaling::Kind::kYarn
             ? magnitude * (1 + 0.1 * std::log(static_cast<double>(scaling.factor)))
             : magnitude;
}

RopeTable::RopeTable(const ModelConfig& config)
    : head_size_(static_cast<size_t>(config.head_size)),
      adjacent_(config.rope_adjacent),
      frequencies_(RopeFrequencies(config)),
      magnitude_(RopeMagnitude(config)) {}

void RopeTable::Grow(size_t positions) {
  for (size_t p = cosines_.size() / frequencies_.size(); p < positions; ++p) {
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(p) * frequency;
      cosines_.push_back(static_cast<float>(magnitude_ * std::cos(angle)));
      sines_.push_back(static_cast<float>(magnitude_ * std::sin(angle)));
    }
  }
}

void RopeTable::Rotate(size_t position, size_t heads, float* row) const {
  const size_t pairs = frequencies_.size();
  const auto rotate = adjacent_ ? Kernels().rotate_adjacent : Kernels().rotate;
  for (size_t h = 0; h < heads; ++h) {
    rotate(row + h * head_size_, cosines_.data() + position * pairs,
           sines_.data() + position * pairs, pairs);
  }
}

}  // namespace ruvd::inference
