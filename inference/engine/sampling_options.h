// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inference/sampler/sampler_kind.h"

namespace ruvd::inference {

struct TextConstraint;

enum class DecodingMode : uint8_t { kDiffusion, kBlock, kAutoregressive };

// The options that a caller may set for a completion; the fields are those of
// ruvd.inference.v1.SamplingOptions, which describes each. An option that the mode or the sampler
// does not read must keep its default.
struct SamplingOptions {
  // nullopt: block if the model was trained for it, diffusion if there are gaps, else by
  // architecture
  std::optional<DecodingMode> mode;
  int max_tokens = 64;
  bool ignore_end_of_text = false;
  std::vector<std::string> stop;
  uint64_t seed = 0;
  // What the completion is held to. It is then written from left to right, one token a step, in
  // every mode, and ends only as a text of the grammar, or at max_tokens. Null: it is free.
  std::shared_ptr<const TextConstraint> constraint = nullptr;

  // How tokens are chosen
  float temperature = 0;
  int top_k = 0;
  float top_p = 0;
  float min_p = 0;
  float repetition_penalty = 0;  // 0 or 1: off
  float presence_penalty = 0;
  float frequency_penalty = 0;
  int penalty_window = 0;
  int no_repeat_ngram = 0;
  int logprobs = -1;  // -1: no log-probabilities

  // How positions are chosen; not read in autoregressive mode. 0 means the default of each option.

  // nullopt: threshold if there is a confidence_threshold, position in blocks with one token per
  // step, else low_confidence
  std::optional<SamplerKind> sampler;
  int steps = 0;         // 0: one token per step
  int block_length = 0;  // 0: the model's own
  float confidence_threshold = 0;
  float position_temperature = 0;
  float factor = 0;
  float entropy_bound = 0;
  float stability_kl = 0;
  int stability_steps = 0;
  std::optional<RemaskKind> remask;
  float remask_strength = 0;
  float guidance_scale = 0;  // 0: off
  // Read in diffusion mode only; 0: off, so the result is exact
  int approximate_cache_steps = 0;
};

// Returns INVALID_ARGUMENT for an option outside its range (which does not depend on the model),
// with the option and the range.
absl::Status CheckSamplingRanges(const SamplingOptions& options);

}  // namespace ruvd::inference
