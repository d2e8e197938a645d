// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace ruvd::bench {

// What all measured commands share.
struct RunOptions {
  std::string model;
  int threads = 1;
  int reps = 5;  // measured repetitions; one more goes before them
  int tokens = 128;
  std::string precision = "fast";  // or "exact"
};

struct DenoiseOptions {
  int prompt = 16;
  int steps = 0;        // of the window, or of each block; 0: one token a step
  int block = 0;        // 0: the whole window at once
  float threshold = 0;  // of the sampler "threshold"
  std::string sampler;  // empty: the engine's default
  int batch = 1;        // completions that share their forwards
};

// Each runs its command and returns the line to print.

struct ForwardOptions {
  // The rows whose logits are computed: "all", "last", or "masked:K" for K rows spread evenly.
  std::string rows = "all";
  int adapter_rank = 0;  // of a random adapter on all linear layers; 0: none
};

// One pass over `tokens` random tokens.
absl::StatusOr<std::string> RunForward(const RunOptions& options, const ForwardOptions& forward);

// Decodes `tokens` greedy tokens with one forward each, behind a cached prompt that is not part of
// the time.
absl::StatusOr<std::string> RunDecode(const RunOptions& options, int prompt);

// Runs a batch of completions of `tokens` tokens each through the diffusion loop: prompts are
// tokenised, every step samples, and tokens that become final are turned into text.
absl::StatusOr<std::string> RunDenoise(const RunOptions& options, const DenoiseOptions& denoise);

}  // namespace ruvd::bench
