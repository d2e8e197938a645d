// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/study_samplers.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

struct Text {
  size_t prompt = 0;  // its number
  std::vector<inference::TokenId> completion;
  int forwards = 0;
};

struct CompleteOptions {
  int tokens = 64;
  int seeds = 1;   // completions of a prompt
  int batch = 16;  // completions at once
};

// Makes completions of all prompts by one way of sampling, seed by seed. An end-of-text token does
// not end them.
absl::StatusOr<std::vector<Text>> Complete(const inference::Model& model,
                                           inference::Transformer& transformer,
                                           std::span<const std::vector<inference::TokenId>> prompts,
                                           const Candidate& candidate,
                                           const CompleteOptions& options);

}  // namespace ruvd::bench
