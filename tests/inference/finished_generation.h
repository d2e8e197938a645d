// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "inference/engine/generation.h"

namespace ruvd::test {

// How a generation ended.
struct FinishedGeneration {
  std::vector<inference::TokenId> tokens;
  std::vector<inference::StepResult> steps;
  std::string text;
  inference::FinishReason reason = inference::FinishReason::kLength;
  int forwards = 0;
  int prompt_length = 0;
};

// Steps a generation to its end.
inline absl::StatusOr<FinishedGeneration> RunToEnd(inference::Generation& generation,
                                                   inference::Transformer& transformer) {
  FinishedGeneration finished;
  while (!generation.done()) {
    ASSIGN_OR_RETURN(inference::StepResult step, generation.Step(transformer));
    finished.steps.push_back(std::move(step));
  }
  RUVD_CHECK(generation.steps() == static_cast<int>(finished.steps.size()));
  finished.tokens = generation.tokens();
  finished.text = generation.text();
  finished.reason = generation.finish_reason();
  finished.forwards = generation.forwards();
  finished.prompt_length = generation.prompt_length();
  return finished;
}

}  // namespace ruvd::test
