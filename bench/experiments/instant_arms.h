// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "bench/experiments/sessions.h"
#include "inference/instant/instant_memory.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/token_memory.h"

namespace ruvd::bench {

// A way of learning within a session. Each session gets a new object.
class InstantArm {
 public:
  virtual ~InstantArm() = default;
  // Changes the logits of a request's predictions (predictions x vocabulary) before it is scored.
  // Predictions that are not scored may stay as they are.
  virtual void Adjust(const RequestOutputs& outputs, std::span<float> logits) = 0;
  // Learns the request's tokens; `logits` are those that Adjust returned.
  virtual void Learn(const RequestOutputs& outputs, std::span<const float> logits) = 0;
};

// A kind of arm with its settings.
struct ArmSettings {
  std::string family;  // frozen, unigram, rows, knn, both, tokens
  std::string name;    // with its settings
  std::function<std::unique_ptr<InstantArm>()> make;
};

ArmSettings FrozenArm();
// p = (1 - share) p + share times the frequency among the tokens learned in this session.
ArmSettings UnigramArm(float share);
// Output rows, neighbours, or both; `step` 0 or `share` 0 leaves one out.
ArmSettings MemoryArm(const std::string& family, float step, float share, float temperature,
                      int neighbours, float prior);
// Neighbours and rows as a node has them by default
ArmSettings DefaultMemoryArm(const std::string& name);

// What a token memory reads: the lessons of a node, what it learns in the session, or both.
struct TokenMemoryArm {
  std::shared_ptr<const inference::MemoryParameters> parameters;
  std::shared_ptr<const inference::TokenMemory> node;  // null: no lessons
  inference::TokenId mask = inference::kNoToken;       // the model's mask token
  bool learns = true;                                  // in the session
  ParallelRunner* runner = nullptr;                    // borrowed
};
ArmSettings MakeTokenMemoryArm(const std::string& name, const TokenMemoryArm& arm);

// Two ways of learning at once, in the order in which a node applies them
ArmSettings InTurnArm(const std::string& name, const ArmSettings& first, const ArmSettings& second);

}  // namespace ruvd::bench
