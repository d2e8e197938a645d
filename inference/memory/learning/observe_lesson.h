// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "inference/memory/memory_run.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// One token of a lesson as the model predicted it.
struct ObservedToken {
  TokenId token = 0;
  float probability = 0;  // of the token
  float entropy = 0;      // of the prediction, in nats
  float t = 0;            // masked share of the window; 0 when read from left to right
  uint32_t masked = 1;    // masked tokens of the window; 1 when read from left to right
  // The tokens beside it that the model could see, nearest first; kNoToken for none
  std::array<TokenId, kMemoryLeft> left_seen{};
  std::array<TokenId, kMemoryRight> right_seen{};
};

// What the model computed when it read a lesson.
struct ObservedLesson {
  size_t given = 0;                   // tokens at the beginning that were not predicted
  std::vector<ObservedToken> tokens;  // the others, in order
  std::vector<float> hidden;          // final hidden state of each prediction, tokens x width
};

// Predicts the tokens of a lesson behind the first `given` ones, each once: from left to right in
// one forward, or with masks in two, whose masks complement each other so that each token is seen
// at one timestep; `random` draws them. `given` must be at least 1 and less than the number of
// tokens. Returns MODE_UNSUPPORTED if masks are wanted of a model without a mask token, and the
// errors of Transformer::Forward.
absl::StatusOr<ObservedLesson> ObserveLesson(Transformer& transformer,
                                             std::span<const TokenId> tokens, size_t given,
                                             bool causal, Random& random);

// Predicts the tokens of a lesson behind the first `given` ones, each once, as a completion that is
// written from its beginning predicts them: with the tokens before it known and all after it
// masked. The first eight are predicted one by one, later ones some at a time: n tokens take some
// 4 ln n sequences. `given` must be at least 1 and less than the number of tokens.
// Returns MODE_UNSUPPORTED if the model has no mask token, and the errors of Transformer::Forward.
absl::StatusOr<ObservedLesson> ObserveFromPrefixes(Transformer& transformer,
                                                   std::span<const TokenId> tokens, size_t given);

// Makes the run that a memory holds of an observed lesson; `tokens` are all of the lesson.
std::shared_ptr<const MemoryRun> RunOf(const MemoryParameters& parameters, uint64_t id,
                                       std::span<const TokenId> tokens,
                                       const ObservedLesson& lesson);
// Does so for several readings of one lesson, each with a `given` of its own; each votes for every
// token that it predicted. A reading that would make the run longer than limits::kMaxMemoryRun is
// left out. `readings` must not be empty.
std::shared_ptr<const MemoryRun> RunOf(const MemoryParameters& parameters, uint64_t id,
                                       std::span<const TokenId> tokens,
                                       std::span<const ObservedLesson> readings);

}  // namespace ruvd::inference
