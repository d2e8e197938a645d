// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"

namespace ruvd::inference {

// Memory of StepTogether that callers can keep between calls.
struct StepScratch {
  std::vector<ForwardInput> inputs;
  std::vector<ForwardOutput> outputs;
  std::vector<float> logits;
};

// Runs one round of every generation with one forward for all of them. Logits are computed only for
// the rows that are needed, limits::kLogitRows at a time. No generation may be done. Each result
// equals, bit for bit, what the generation would have got alone; if one of them makes the forward
// fail, the others still get their results. A generation that failed must not be used any more.
std::vector<ForwardRoundResult> StepTogether(std::span<Generation* const> generations,
                                             Transformer& transformer, StepScratch* scratch);

// Returns the number of tokens that the generation's next forward evaluates. Callers use it to
// bound a batch.
size_t NextForwardRows(Generation& generation);

}  // namespace ruvd::inference
