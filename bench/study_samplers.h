// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "inference/engine/sampling_options.h"

namespace ruvd::bench {

// One way of sampling that the study compares.
struct Candidate {
  std::string name;
  inference::SamplingOptions options;
};

// Returns the candidates of a mode. Samplers that follow a schedule get the steps that commit
// `tokens_per_forward` tokens a forward in a scope of `scope` tokens (a block, or the window);
// those that decide for themselves start from one.
std::vector<Candidate> Candidates(inference::DecodingMode mode, double tokens_per_forward,
                                  int scope);

// For speed at equal text: whole windows as the peer's loop evaluates them, and blocks of `scope`
// tokens behind an exact cache with confidence thresholds, each with the peer's choice of tokens
// and with ours.
std::vector<Candidate> SpeedCandidates(int tokens, int scope);

// Returns the candidates of docs/samples.md.
std::vector<Candidate> SampleCandidates();

}  // namespace ruvd::bench
