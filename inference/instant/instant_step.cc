// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/instant/instant_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "inference/instant/limits.h"
#include "inference/kernels/kernel_table.h"
#include "inference/sampler/limits.h"

namespace ruvd::inference {
namespace {

// Returns false for NaN.
bool IsProbability(float value) {
  return value >= 0 && value <= 1;
}

// Returns whether a lesson can be applied. A value that is not finite would spread to every later
// logit.
bool IsSound(const InstantLesson& lesson, float length) {
  return length > 0 && std::isfinite(length) && lesson.weight != 0 &&
         std::isfinite(lesson.weight) && IsProbability(lesson.probability) &&
         std::all_of(
             lesson.candidates.begin(), lesson.candidates.end(),
             [](const TokenProbability& entry) { return IsProbability(entry.probability); });
}

}  // namespace

float EuclideanNorm(std::span<const float> x) {
  // separate sums let the compiler use vectors without changing the order
  constexpr size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
    }
  }
  for (; i < x.size(); ++i) {
    sums[0] += static_cast<double>(x[i]) * x[i];
  }
  double sum = 0;
  for (const double lane : sums) {
    sum += lane;
  }
  return static_cast<float>(std::sqrt(sum));
}

std::shared_ptr<const InstantStep> InstantStep::Make(std::string id, int width,
                                                     std::span<const InstantLesson> lessons,
                                                     const InstantStepOptions& options) {
  std::shared_ptr<InstantStep> step(new InstantStep(std::move(id), static_cast<size_t>(width)));
  const size_t most = std::min(lessons.size(), limits::kMaxStepPositions);
  step->keys_.reserve(most * step->width_);
  step->votes_.reserve(most);
  step->ends_.reserve(most + 1);
  step->changes_.reserve(most * (limits::kMaxCandidates + 1));
  for (const InstantLesson& lesson : lessons.first(most)) {
    RUVD_CHECK(lesson.hidden.size() == step->width_);
    const float length = EuclideanNorm(lesson.hidden);
    if (IsSound(lesson, length)) {
      step->Add(lesson, length, options);
    }
  }
  step->changes_.shrink_to_fit();
  return step;
}

void InstantStep::Add(const InstantLesson& lesson, float length,
                      const InstantStepOptions& options) {
  constexpr float kMaxWeight = 1;
  const float weight = std::clamp(lesson.weight, -kMaxWeight, kMaxWeight);
  std::vector<float> unit(lesson.hidden.begin(), lesson.hidden.end());
  for (float& value : unit) {
    value /= length;
  }
  keys_.resize(keys_.size() + width_);
  Kernels().narrow(KvFormat::kF16, unit.data(), width_, keys_.data() + votes_.size() * width_);
  // step / |h|^2 * (h . h') equals step / |h| * cos * |h'|.
  const float rate = options.step / length;
  if (weight < 0) {
    votes_.emplace_back();
    const float push = weight * options.rejection * lesson.probability;
    changes_.push_back({lesson.token, rate * push});
  } else {
    votes_.push_back({lesson.token, weight});
    changes_.push_back({lesson.token, rate * weight * (1 - lesson.probability)});
    for (const TokenProbability& candidate : lesson.candidates) {
      if (candidate.token != lesson.token) {
        changes_.push_back({candidate.token, -rate * weight * candidate.probability});
      }
    }
  }
  ends_.push_back(static_cast<uint32_t>(changes_.size()));
}

size_t InstantStep::bytes() const {
  return sizeof(*this) + id_.capacity() + keys_.capacity() * sizeof(uint16_t) +
         votes_.capacity() * sizeof(Vote) + changes_.capacity() * sizeof(Change) +
         ends_.capacity() * sizeof(uint32_t);
}

}  // namespace ruvd::inference
