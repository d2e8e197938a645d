// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/sampler/commit_rule.h"

namespace ruvd::inference::generation {

// Options after the checks against the model, with every default filled in.
struct Plan {
  DecodingMode mode = DecodingMode::kDiffusion;
  SamplingOptions options;
  CommitRuleOptions rule;  // not used in autoregressive mode
  // Prompt and window, with kNoToken where the model fills in; in autoregressive mode, the prompt
  // only
  std::vector<TokenId> canvas;
  int first_open = 0;    // the first generated position
  int open_end = 0;      // the position after the last generated one
  int given_end = 0;     // the position after the last given token
  int block_length = 0;  // kBlock
  TokenId mask = kNoToken;
  // tokens that end the text or the turn; empty if they do not end the completion
  std::vector<TokenId> end_tokens;
  ModelConfig config;
  // Null: the completion does not share keys and values
  std::shared_ptr<PrefixTree> prefixes;
};

// Checks the options against the model and fills in the defaults. `canvas` is as for
// Generation::CreateInfill. `infill` says that a given token follows an open position, or may
// follow one.
absl::StatusOr<Plan> MakePlan(const Model& model, std::vector<TokenId> canvas, bool infill,
                              const SamplingOptions& options);

// Returns INVALID_ARGUMENT for an option that the mode or the sampler does not read; names both.
absl::Status CheckContradictions(const SamplingOptions& options, DecodingMode mode);

// Returns the options of the commit rule, with the defaults of its sampler.
CommitRuleOptions RuleOf(const SamplingOptions& options, DecodingMode mode);

}  // namespace ruvd::inference::generation
