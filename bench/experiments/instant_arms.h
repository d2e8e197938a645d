// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/experiments/sessions.h"
#include "inference/instant/instant_memory.h"

namespace ruvd::bench {

// A way of learning within a session. Each session gets a new object.
class InstantArm {
 public:
  virtual ~InstantArm() = default;
  // Changes the logits of a request before it is scored.
  virtual void Adjust(std::span<const float> hidden, size_t rows, std::span<float> logits) = 0;
  // Learns the request's tokens; `logits` are those that Adjust returned.
  virtual void Learn(const RequestOutputs& outputs, std::span<const float> logits) = 0;
};

// A kind of arm with its settings.
struct ArmSettings {
  std::string family;  // frozen, unigram, rows, knn, both
  std::string name;    // with its settings
  std::function<std::unique_ptr<InstantArm>()> make;
};

ArmSettings FrozenArm();
// p = (1 - share) p + share times the frequency among the tokens learned in this session.
ArmSettings UnigramArm(float share);
// Output rows, neighbours, or both; `step` 0 or `share` 0 leaves one out.
ArmSettings MemoryArm(const std::string& family, float step, float share, float temperature,
                      int neighbours, float prior);

}  // namespace ruvd::bench
