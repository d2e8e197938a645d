// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/sampling_request.h"

#include <string>
#include <string_view>

#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "node/api/bad_request.h"

namespace ruvd::api {
namespace {

// The best values for ruvdllm-29m according to bench/RESULTS.md: without a penalty greedy decoding
// repeats itself, and larger penalties suppress function words.
constexpr float kDefaultRepetitionPenalty = 1.2F;
constexpr int kDefaultNoRepeatNgram = 3;

// Reads the name of an enumerator; an empty name gives nullopt.
template <typename Kind>
absl::StatusOr<std::optional<Kind>> ReadName(std::string_view option, const std::string& name,
                                             std::optional<Kind> (*by_name)(std::string_view),
                                             const std::string& names) {
  const std::optional<Kind> kind = by_name(name);
  if (!name.empty() && !kind.has_value()) {
    return BadField(option, "{} '{}' is unknown; use one of {}", option, SanitizeForDisplay(name),
                    names);
  }
  return kind;
}

absl::Status CheckPresent(const inference::v1::SamplingOptions& message) {
  RETURN_IF_ERROR(CheckNotZero("max_tokens", message.has_max_tokens(), message.max_tokens()));
  RETURN_IF_ERROR(CheckNotZero("steps", message.has_steps(), message.steps()));
  RETURN_IF_ERROR(CheckNotZero("block_length", message.has_block_length(), message.block_length()));
  RETURN_IF_ERROR(CheckNotZero("confidence_threshold", message.has_confidence_threshold(),
                               message.confidence_threshold()));
  RETURN_IF_ERROR(
      CheckNotZero("entropy_bound", message.has_entropy_bound(), message.entropy_bound()));
  RETURN_IF_ERROR(CheckNotZero("factor", message.has_factor(), message.factor()));
  RETURN_IF_ERROR(CheckNotZero("stability_kl", message.has_stability_kl(), message.stability_kl()));
  RETURN_IF_ERROR(
      CheckNotZero("stability_steps", message.has_stability_steps(), message.stability_steps()));
  RETURN_IF_ERROR(
      CheckNotZero("remask_strength", message.has_remask_strength(), message.remask_strength()));
  return CheckNotZero("penalty_window", message.has_penalty_window(), message.penalty_window());
}

// Checks the options that would overflow when converted to int; the engine checks all others.
absl::Status CheckCounts(const inference::v1::SamplingOptions& message) {
  constexpr double kMaxCount = 1 << 20;
  RETURN_IF_ERROR(CheckPresent(message));
  RETURN_IF_ERROR(CheckBetween("max_tokens", message.max_tokens(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("steps", message.steps(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("block_length", message.block_length(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("top_k", message.top_k(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("penalty_window", message.penalty_window(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("no_repeat_ngram", message.no_repeat_ngram(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("stability_steps", message.stability_steps(), 0, kMaxCount));
  RETURN_IF_ERROR(
      CheckBetween("approximate_cache_steps", message.approximate_cache_steps(), 0, kMaxCount));
  return CheckBetween("logprobs", message.logprobs(), 0, kMaxCount);
}

void ReadTokenChoice(const inference::v1::SamplingOptions& message,
                     inference::SamplingOptions* options) {
  options->temperature = message.temperature();
  options->top_k = static_cast<int>(message.top_k());
  options->top_p = message.top_p();
  options->min_p = message.min_p();
  options->repetition_penalty =
      message.has_repetition_penalty() ? message.repetition_penalty() : kDefaultRepetitionPenalty;
  options->presence_penalty = message.presence_penalty();
  options->frequency_penalty = message.frequency_penalty();
  options->penalty_window = static_cast<int>(message.penalty_window());
  options->no_repeat_ngram = message.has_no_repeat_ngram()
                                 ? static_cast<int>(message.no_repeat_ngram())
                                 : kDefaultNoRepeatNgram;
  options->logprobs = message.has_logprobs() ? static_cast<int>(message.logprobs()) : -1;
}

absl::Status ReadPositionChoice(const inference::v1::SamplingOptions& message,
                                inference::SamplingOptions* options) {
  ASSIGN_OR_RETURN(
      options->sampler,
      ReadName("sampler", message.sampler(), &inference::SamplerByName, inference::SamplerNames()));
  ASSIGN_OR_RETURN(options->remask, ReadName("remask", message.remask(), &inference::RemaskByName,
                                             inference::RemaskNames()));
  options->steps = static_cast<int>(message.steps());
  options->block_length = static_cast<int>(message.block_length());
  options->confidence_threshold = message.confidence_threshold();
  options->position_temperature = message.position_temperature();
  options->factor = message.factor();
  options->entropy_bound = message.entropy_bound();
  options->stability_kl = message.stability_kl();
  options->stability_steps = static_cast<int>(message.stability_steps());
  options->approximate_cache_steps = static_cast<int>(message.approximate_cache_steps());
  options->remask_strength = message.remask_strength();
  options->guidance_scale = message.guidance_scale();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<inference::DecodingMode>> ReadMode(inference::v1::DecodingMode mode) {
  switch (mode) {
    case inference::v1::DECODING_MODE_UNSPECIFIED:
      return std::nullopt;
    case inference::v1::DECODING_MODE_DIFFUSION:
      return inference::DecodingMode::kDiffusion;
    case inference::v1::DECODING_MODE_BLOCK:
      return inference::DecodingMode::kBlock;
    case inference::v1::DECODING_MODE_AUTOREGRESSIVE:
      return inference::DecodingMode::kAutoregressive;
    default:
      return BadField("mode",
                      "decoding mode {} is unknown to this version; use diffusion, block or "
                      "autoregressive",
                      static_cast<int>(mode));
  }
}

inference::v1::DecodingMode WireMode(inference::DecodingMode mode) {
  switch (mode) {
    case inference::DecodingMode::kDiffusion:
      return inference::v1::DECODING_MODE_DIFFUSION;
    case inference::DecodingMode::kBlock:
      return inference::v1::DECODING_MODE_BLOCK;
    case inference::DecodingMode::kAutoregressive:
      return inference::v1::DECODING_MODE_AUTOREGRESSIVE;
  }
  return inference::v1::DECODING_MODE_UNSPECIFIED;
}

absl::StatusOr<inference::SamplingOptions> ReadSampling(
    const inference::v1::SamplingOptions& message) {
  RETURN_IF_ERROR(CheckCounts(message));
  inference::SamplingOptions options;
  ASSIGN_OR_RETURN(options.mode, ReadMode(message.mode()));
  if (message.max_tokens() > 0) {
    options.max_tokens = static_cast<int>(message.max_tokens());
  }
  options.ignore_end_of_text = message.ignore_end_of_text();
  options.stop.assign(message.stop().begin(), message.stop().end());
  options.seed = message.seed();
  ReadTokenChoice(message, &options);
  RETURN_IF_ERROR(ReadPositionChoice(message, &options));
  RETURN_IF_ERROR(inference::CheckSamplingRanges(options));
  return options;
}

}  // namespace ruvd::api
