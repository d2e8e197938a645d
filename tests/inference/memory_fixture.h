// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/memory_run.h"
#include "inference/memory/token_memory.h"

namespace ruvd::test {

inline constexpr int kMemoryWidth = 40;
inline constexpr size_t kMemoryVocabulary = 24;

// Random parameters for states of kMemoryWidth values, with keys of 32 values.
inline inference::MemoryParameters RandomMemoryParameters(uint64_t seed = 1) {
  Random random(seed);
  inference::MemoryParameters p;
  p.model_hash = Digest{7};
  p.width = kMemoryWidth;
  p.dimension = 32;
  for (int i = 0; i < p.width; ++i) {
    p.mean.push_back(static_cast<float>(random.Normal()));
  }
  for (int i = 0; i < p.width * p.dimension; ++i) {
    // a number that 16 bits hold
    p.projection.push_back(static_cast<float>(std::round(random.Normal() * 64) / 64));
  }
  p.temperature = 0.1F;
  p.left = {1.5F, 1.0F, 0.75F, 0.5F};
  p.right = {1.25F, 0.875F, 0.625F};
  p.both = 0.375F;
  p.surprise = 0.05F;
  p.timestep = -1.25F;
  for (size_t i = 0; i < kMemoryVocabulary; ++i) {
    p.public_log_frequency.push_back(-3.0F - 0.125F * static_cast<float>(i % 5));
  }
  const auto fill = [&](inference::MemoryGate* gate) {
    auto values = gate->Flatten();
    for (float& value : values) {
      value = static_cast<float>(random.Normal() * 0.5);
    }
    *gate = inference::MemoryGate::FromFlat(values);
  };
  fill(&p.masked_gate);
  fill(&p.causal_gate);
  return p;
}

// A lesson as a test made it up.
struct MadeLesson {
  std::vector<inference::TokenId> tokens;
  size_t context = 0;
  std::vector<float> hidden;
  std::vector<float> probabilities;
  float t = 0.5F;
};

inline MadeLesson MakeLesson(Random& random, size_t tokens, size_t context) {
  MadeLesson lesson{.context = context};
  for (size_t i = 0; i < tokens; ++i) {
    lesson.tokens.push_back(static_cast<inference::TokenId>(random.Below(kMemoryVocabulary)));
  }
  for (size_t i = 0; i < (tokens - context) * kMemoryWidth; ++i) {
    lesson.hidden.push_back(static_cast<float>(random.Normal()));
  }
  for (size_t i = context; i < tokens; ++i) {
    lesson.probabilities.push_back(static_cast<float>(random.Uniform()));
  }
  lesson.t = static_cast<float>(random.Uniform());
  return lesson;
}

inline std::shared_ptr<const inference::MemoryRun> RunOf(const inference::MemoryParameters& p,
                                                         uint64_t id, const MadeLesson& lesson) {
  std::vector<inference::MemoryObservation> observations;
  for (size_t i = 0; i < lesson.probabilities.size(); ++i) {
    observations.push_back(
        {.hidden = std::span(lesson.hidden).subspan(i * kMemoryWidth, kMemoryWidth),
         .probability = lesson.probabilities[i],
         .t = lesson.t});
  }
  return inference::MemoryRun::Make(p, id, lesson.tokens, lesson.context, observations);
}

}  // namespace ruvd::test
