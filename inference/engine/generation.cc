// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/generation.h"

#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/limits.h"

namespace ruvd {
namespace generation {
namespace {

absl::Status Invalid(std::string_view option, std::string_view range) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "{} must be {}; change the sampling options", option, range);
}

absl::Status Unsupported(std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
               "{}; choose another decoding mode or model", what);
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

absl::Status CheckOptions(const SamplingOptions& options) {
  const auto within = [](float value, float low, float high) {
    return std::isfinite(value) && value >= low && value <= high;
  };
  if (options.max_tokens < 0) {
    return Invalid("max_tokens", "at least 0 (0: the default)");
  }
  if (options.steps < 0 || options.top_k < 0 || options.block_length < 0) {
    return Invalid("steps, top_k and block_length", "at least 0 (0: the default)");
  }
  if (!within(options.temperature, 0, limits::kMaxTemperature)) {
    return Invalid("temperature", fmt::format("between 0 and {}", limits::kMaxTemperature));
  }
  if (!within(options.confidence_threshold, 0, 1) || !within(options.top_p, 0, 1)) {
    return Invalid("confidence_threshold and top_p", "between 0 and 1");
  }
  if (!within(options.repetition_penalty, 0, limits::kMaxRepetitionPenalty)) {
    return Invalid("repetition_penalty",
                   fmt::format("between 0 and {}", limits::kMaxRepetitionPenalty));
  }
  return CheckStop(options.stop);
}

DecodingMode DefaultMode(const ModelConfig& config) {
  if (config.architecture == Architecture::kQwen2) {
    return DecodingMode::kAutoregressive;
  }
  return config.block_length > 0 ? DecodingMode::kBlock : DecodingMode::kDiffusion;
}

absl::Status CheckMode(const Plan& plan, bool has_mask) {
  if (plan.mode == DecodingMode::kAutoregressive) {
    return plan.config.shift_logits
               ? absl::OkStatus()
               : Unsupported(
                     "the model predicts a token in its own row, so it cannot decode "
                     "token by token");
  }
  if (!has_mask || plan.config.architecture == Architecture::kQwen2) {
    return Unsupported("the model was not trained for masked diffusion");
  }
  if (plan.mode == DecodingMode::kBlock && plan.block_length == 0) {
    return Unsupported(
        "the model was not trained for block diffusion and no block_length is given");
  }
  return absl::OkStatus();
}

absl::Status CheckPrompt(const Plan& plan, std::span<const TokenId> prompt) {
  if (plan.mode == DecodingMode::kAutoregressive && prompt.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "autoregressive decoding needs at least one prompt token; give a prompt");
  }
  for (const TokenId token : prompt) {
    if (token >= static_cast<TokenId>(plan.config.vocabulary)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "prompt token {} lies outside the vocabulary of {}; use this model's tokenizer",
                   token, plan.config.vocabulary);
    }
  }
  const int64_t wanted = static_cast<int64_t>(prompt.size()) + plan.max_tokens;
  if (wanted > plan.config.context) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} prompt tokens and {} new ones are {} more than the model's context of {}; "
                 "shorten the prompt or ask for fewer tokens",
                 prompt.size(), plan.max_tokens, wanted - plan.config.context, plan.config.context);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Model& model, std::span<const TokenId> prompt,
                              const SamplingOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  Plan plan;
  plan.config = model.config();
  plan.options = options;
  plan.mode = options.mode.value_or(DefaultMode(plan.config));
  plan.max_tokens = options.max_tokens > 0 ? options.max_tokens : SamplingOptions().max_tokens;
  plan.block_length = options.block_length > 0 ? options.block_length : plan.config.block_length;
  const std::optional<TokenId> mask = model.tokenizer().mask_id();
  plan.mask = mask.value_or(kNoToken);
  if (!options.ignore_end_of_text) {
    plan.end_of_text = model.tokenizer().eos_id();
  }
  RETURN_IF_ERROR(CheckMode(plan, mask.has_value()));
  RETURN_IF_ERROR(CheckPrompt(plan, prompt));
  return plan;
}

}  // namespace generation

absl::StatusOr<std::unique_ptr<Generation>> Generation::Create(const Model& model,
                                                               std::vector<TokenId> prompt,
                                                               const SamplingOptions& options,
                                                               AdapterPolicy adapters) {
  ASSIGN_OR_RETURN(generation::Plan plan, generation::MakePlan(model, prompt, options));
  switch (plan.mode) {
    case DecodingMode::kDiffusion:
      return generation::MakeDiffusion(model, std::move(plan), std::move(prompt),
                                       std::move(adapters));
    case DecodingMode::kBlock:
      return generation::MakeBlock(model, std::move(plan), std::move(prompt), std::move(adapters));
    case DecodingMode::kAutoregressive:
      break;
  }
  return generation::MakeAutoregressive(model, std::move(plan), std::move(prompt),
                                        std::move(adapters));
}

}  // namespace ruvd
