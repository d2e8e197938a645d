// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"

namespace ruvd::inference {

// Memory of StepTogether that is worth keeping between calls.
struct StepScratch {
  std::vector<ForwardInput> inputs;
  std::vector<ForwardOutput> outputs;
  std::vector<float> logits;
};

// One round of every generation with one forward for all of them, and logits for the rows they need
// only, limits::kLogitRows rows at once. None may be done. Each result is what the generation would
// have got alone, bit for bit; where one of them makes the forward fail, the others still get
// theirs. A generation that failed must not be used any more.
std::vector<RoundResult> StepTogether(std::span<Generation* const> generations,
                                      Transformer& transformer, StepScratch* scratch);

// Tokens that a generation's next forward evaluates: what a caller bounds a batch by.
size_t NextRows(Generation& generation);

}  // namespace ruvd::inference
