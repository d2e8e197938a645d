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

// Options after they were checked against the model, with every default filled in.
struct Plan {
  DecodingMode mode = DecodingMode::kDiffusion;
  SamplingOptions options;
  CommitRuleOptions rule;  // not autoregressive
  // Prompt and window; kNoToken where the model fills in. Autoregressive: the prompt alone.
  std::vector<TokenId> canvas;
  int first_open = 0;    // the first generated position
  int open_end = 0;      // behind the last one
  int given_end = 0;     // behind the last given token
  int block_length = 0;  // kBlock
  TokenId mask = kNoToken;
  std::vector<TokenId> end_tokens;  // of the text or the turn; none where they do not end it
  ModelConfig config;
  // Null: keys and values are the completion's own.
  std::shared_ptr<PrefixTree> prefixes;
};

// `canvas` as for Generation::CreateInfill. `infill`: some given token follows an open position, or
// may.
absl::StatusOr<Plan> MakePlan(const Model& model, std::vector<TokenId> canvas, bool infill,
                              const SamplingOptions& options);

// INVALID_ARGUMENT for an option that the mode or the sampler does not read; names both.
absl::Status CheckContradictions(const SamplingOptions& options, DecodingMode mode);

// The options of the commit rule, with the defaults of its sampler.
CommitRuleOptions RuleOf(const SamplingOptions& options, DecodingMode mode);

}  // namespace ruvd::inference::generation
