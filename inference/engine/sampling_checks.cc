// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/plan.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace generation {
namespace {

absl::Status Invalid(std::string_view option, std::string_view range) {
  return WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                         "{} must be {}; change the sampling options", option, range),
                   option);
}

struct Range {
  std::string_view name;
  float value;
  float low;
  float high;
};

absl::Status CheckFloats(const SamplingOptions& options) {
  const std::array ranges = {
      Range{"temperature", options.temperature, 0, limits::kMaxTemperature},
      Range{"position_temperature", options.position_temperature, 0, limits::kMaxTemperature},
      Range{"confidence_threshold", options.confidence_threshold, 0, 1},
      Range{"top_p", options.top_p, 0, 1},
      Range{"min_p", options.min_p, 0, 1},
      Range{"repetition_penalty", options.repetition_penalty, 0, limits::kMaxRepetitionPenalty},
      Range{"presence_penalty", options.presence_penalty, -limits::kMaxCountPenalty,
            limits::kMaxCountPenalty},
      Range{"frequency_penalty", options.frequency_penalty, -limits::kMaxCountPenalty,
            limits::kMaxCountPenalty},
      Range{"factor", options.factor, 0, limits::kMaxSamplerParameter},
      Range{"entropy_bound", options.entropy_bound, 0, limits::kMaxSamplerParameter},
      Range{"stability_kl", options.stability_kl, 0, limits::kMaxSamplerParameter},
      Range{"remask_strength", options.remask_strength, 0, 1},
      Range{"guidance_scale", options.guidance_scale, 0, limits::kMaxSamplerParameter},
  };
  for (const Range& range : ranges) {
    // the negated form also refuses NaN
    if (!(range.value >= range.low && range.value <= range.high)) {
      return Invalid(range.name, fmt::format("between {} and {}", range.low, range.high));
    }
  }
  for (const Range& range : std::span(ranges).first(2)) {  // the temperatures
    if (range.value > 0 && range.value < limits::kMinTemperature) {
      return Invalid(range.name, fmt::format("0 or at least {}", limits::kMinTemperature));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounts(const SamplingOptions& options) {
  const std::array<std::pair<std::string_view, int>, 8> counts = {{
      {"max_tokens", options.max_tokens},
      {"steps", options.steps},
      {"top_k", options.top_k},
      {"block_length", options.block_length},
      {"penalty_window", options.penalty_window},
      {"no_repeat_ngram", options.no_repeat_ngram},
      {"stability_steps", options.stability_steps},
      {"approximate_cache_steps", options.approximate_cache_steps},
  }};
  for (const auto& [name, value] : counts) {
    if (value < 0) {
      return Invalid(name, "at least 0 (0: the default)");
    }
  }
  if (options.steps > limits::kMaxSteps) {
    return Invalid("steps", fmt::format("at most {}", limits::kMaxSteps));
  }
  if (options.no_repeat_ngram > limits::kMaxNgram) {
    return Invalid("no_repeat_ngram", fmt::format("at most {}", limits::kMaxNgram));
  }
  if (options.logprobs < -1 || options.logprobs > limits::kMaxLogprobs) {
    return Invalid("logprobs", fmt::format("between 0 and {}", limits::kMaxLogprobs));
  }
  return absl::OkStatus();
}

absl::Status CheckStop(const std::vector<std::string>& stop) {
  if (stop.size() > limits::kMaxStopStrings) {
    return Invalid("stop", fmt::format("at most {} strings", limits::kMaxStopStrings));
  }
  for (const std::string& text : stop) {
    const bool continuation = !text.empty() && (static_cast<uint8_t>(text[0]) & 0xC0) == 0x80;
    if (text.empty() || text.size() > limits::kMaxStopBytes || continuation) {
      return Invalid("stop", fmt::format("UTF-8 strings of 1 to {} bytes", limits::kMaxStopBytes));
    }
  }
  return absl::OkStatus();
}

absl::Status Contradiction(std::string_view option, std::string_view why) {
  return WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                         "{} {}; leave one of them out", option, why),
                   option);
}

struct Given {
  std::string_view name;
  bool set;
  bool read;  // the sampler reads it
};

// Returns the options that choose positions, and whether the sampler reads each.
std::array<Given, 8> PositionOptions(const SamplingOptions& options, SamplerKind kind) {
  const auto is = [kind](std::initializer_list<SamplerKind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  using enum SamplerKind;
  return {Given{"confidence_threshold", options.confidence_threshold > 0, is({kThreshold, kKlass})},
          {"position_temperature", options.position_temperature > 0,
           is({kLowConfidence, kMargin, kEntropy})},
          {"factor", options.factor > 0, is({kFactor})},
          {"entropy_bound", options.entropy_bound > 0, is({kEntropyBounded})},
          {"stability_kl", options.stability_kl > 0, is({kKlass})},
          {"stability_steps", options.stability_steps > 0, is({kKlass})},
          {"remask", options.remask.has_value(), is({kRemdm})},
          {"remask_strength", options.remask_strength > 0,
           is({kRemdm}) && options.remask != RemaskKind::kConfidence}};
}

// The study in bench/RESULTS.md found these best: with one token per step, blocks are written from
// left to right; with several per step, the most certain tokens come first.
SamplerKind UsualSampler(const SamplingOptions& options, DecodingMode mode) {
  if (options.constraint != nullptr) {
    return SamplerKind::kPosition;
  }
  if (options.confidence_threshold > 0) {
    return SamplerKind::kThreshold;
  }
  const bool one_by_one = options.steps == 0 && options.position_temperature == 0;
  return mode == DecodingMode::kBlock && one_by_one ? SamplerKind::kPosition
                                                    : SamplerKind::kLowConfidence;
}

// A constrained text is written from left to right, because what a token may be depends on all
// bytes before it.
absl::Status CheckConstrained(const SamplingOptions& options) {
  const SamplerKind sampler = options.sampler.value_or(SamplerKind::kPosition);
  for (const Given& given :
       {Given{"ignore_end_of_text", options.ignore_end_of_text, false},
        Given{"no_repeat_ngram", options.no_repeat_ngram > 0, false},
        Given{"stop", !options.stop.empty(), false}, Given{"steps", options.steps > 0, false},
        Given{"confidence_threshold", options.confidence_threshold > 0, false},
        Given{"approximate_cache_steps", options.approximate_cache_steps > 0, false},
        Given{"sampler", sampler != SamplerKind::kPosition, false}}) {
    if (given.set) {
      return Contradiction(given.name,
                           "contradicts a schema, expression, grammar or list of choices, whose "
                           "completion is written from left to right, one token a step, to its own "
                           "end");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckContradictions(const SamplingOptions& options, DecodingMode mode) {
  if (options.constraint != nullptr) {
    RETURN_IF_ERROR(CheckConstrained(options));
  }
  const bool autoregressive = mode == DecodingMode::kAutoregressive;
  const SamplerKind kind = RuleOf(options, mode).kind;
  for (const Given& given : PositionOptions(options, kind)) {
    if (given.set && (autoregressive || !given.read)) {
      return Contradiction(given.name,
                           autoregressive
                               ? std::string("has no effect in the mode autoregressive")
                               : fmt::format("is not read by the sampler {}", SamplerName(kind)));
    }
  }
  if (autoregressive) {
    for (const Given& given : {Given{"sampler", options.sampler.has_value(), false},
                               Given{"steps", options.steps > 0, false},
                               Given{"guidance_scale", options.guidance_scale > 0, false}}) {
      if (given.set) {
        return Contradiction(given.name, "has no effect in the mode autoregressive");
      }
    }
  }
  if (mode != DecodingMode::kDiffusion && options.approximate_cache_steps > 0) {
    return Contradiction("approximate_cache_steps",
                         "is read in diffusion mode only; the other modes' cache is exact");
  }
  if (mode != DecodingMode::kBlock && options.approximate_cache_steps == 0 &&
      options.block_length > 0) {
    return Contradiction("block_length", "is read in block mode and with an approximate cache");
  }
  if (options.temperature == 0) {
    for (const Given& given :
         {Given{"top_k", options.top_k > 0, false}, Given{"top_p", options.top_p > 0, false},
          Given{"min_p", options.min_p > 0, false}}) {
      if (given.set) {
        return Contradiction(given.name, "has no effect at temperature 0, which is greedy");
      }
    }
  }
  const bool counting = options.presence_penalty != 0 || options.frequency_penalty != 0 ||
                        (options.repetition_penalty > 0 && options.repetition_penalty != 1);
  if (options.penalty_window > 0 && !counting) {
    return Contradiction("penalty_window", "is given without a penalty");
  }
  return absl::OkStatus();
}

CommitRuleOptions RuleOf(const SamplingOptions& options, DecodingMode mode) {
  const auto or_default = [](auto value, auto otherwise) { return value > 0 ? value : otherwise; };
  CommitRuleOptions rule;
  rule.kind = options.sampler.value_or(UsualSampler(options, mode));
  rule.position_temperature = options.position_temperature;
  rule.threshold = or_default(options.confidence_threshold, rule.threshold);
  rule.factor = or_default(options.factor, rule.factor);
  rule.entropy_bound = or_default(options.entropy_bound, rule.entropy_bound);
  rule.stability_kl = or_default(options.stability_kl, rule.stability_kl);
  rule.stability_steps = or_default(options.stability_steps, rule.stability_steps);
  rule.remask = options.remask.value_or(rule.remask);
  rule.remask_strength = or_default(options.remask_strength, rule.remask_strength);
  return rule;
}

}  // namespace generation

absl::Status CheckSamplingRanges(const SamplingOptions& options) {
  RETURN_IF_ERROR(generation::CheckCounts(options));
  RETURN_IF_ERROR(generation::CheckFloats(options));
  return generation::CheckStop(options.stop);
}

}  // namespace ruvd::inference
