// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/generation.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/limits.h"
#include "inference/model/config.h"

namespace ruvd::inference {
namespace generation {
namespace {

absl::Status Unsupported(std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
               "{}; choose another decoding mode or model", what);
}

absl::Status CheckMode(const Plan& plan, bool infill) {
  if (plan.mode == DecodingMode::kAutoregressive) {
    if (infill) {
      return Unsupported("autoregressive decoding cannot fill gaps");
    }
    if (!plan.config.causal && !TraitsOf(plan.config.architecture).diffusion) {
      return Unsupported(
          "the model file declares bidirectional attention, so it cannot decode token by "
          "token");
    }
    return plan.config.shift_logits
               ? absl::OkStatus()
               : Unsupported(
                     "the model predicts a token in its own row, so it cannot decode "
                     "token by token");
  }
  if (plan.mask == kNoToken || !TraitsOf(plan.config.architecture).diffusion) {
    return Unsupported("the model was not trained for masked diffusion");
  }
  if (plan.mode == DecodingMode::kBlock && plan.block_length == 0) {
    return Unsupported(
        "the model was not trained for block diffusion and no block_length is given");
  }
  return absl::OkStatus();
}

absl::Status CheckConstraint(const Plan& plan, bool infill) {
  if (plan.options.constraint == nullptr) {
    return absl::OkStatus();
  }
  if (infill) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a text with gaps cannot be held to a schema, expression, grammar or list of "
                 "choices; leave one of them out");
  }
  return plan.end_tokens.empty()
             ? Unsupported(
                   "the model has no token that ends a text, so it cannot be held to a "
                   "schema, expression, grammar or list of choices")
             : absl::OkStatus();
}

absl::Status CheckCanvas(const Plan& plan) {
  const auto given = static_cast<int64_t>(std::count_if(
      plan.canvas.begin(), plan.canvas.end(), [](TokenId token) { return token != kNoToken; }));
  if (plan.mode == DecodingMode::kAutoregressive && given == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "autoregressive decoding needs at least one prompt token; give a prompt");
  }
  for (const TokenId token : plan.canvas) {
    if (token != kNoToken && token >= static_cast<TokenId>(plan.config.vocabulary)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "prompt token {} lies outside the vocabulary of {}; use this model's tokenizer",
                   token, plan.config.vocabulary);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLength(int64_t given, int64_t open, int64_t context) {
  if (open == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the text has no gap to fill; mark at least one");
  }
  if (given + open > context) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kContextTooLong,
                 "{} prompt tokens and {} new ones are {} more than the model's context of {}; "
                 "shorten the prompt or ask for fewer tokens",
                 given, open, given + open - context, context);
  }
  return absl::OkStatus();
}

void FindBorders(Plan* plan) {
  const auto open = [](TokenId token) { return token == kNoToken; };
  const auto& canvas = plan->canvas;
  const auto first = std::find_if(canvas.begin(), canvas.end(), open);
  const auto last = std::find_if(canvas.rbegin(), canvas.rend(), open);
  const auto given = std::find_if_not(canvas.rbegin(), canvas.rend(), open);
  plan->first_open = static_cast<int>(first - canvas.begin());
  plan->open_end = static_cast<int>(canvas.rend() - last);
  plan->given_end = static_cast<int>(canvas.rend() - given);
}

// Returns the most pages that the plan's keys and values take at once when served alone.
uint64_t MostPages(const Plan& plan) {
  uint64_t tokens = 0;
  bool shares = true;
  switch (plan.mode) {
    case DecodingMode::kDiffusion:
      tokens = plan.options.approximate_cache_steps > 0 ? plan.canvas.size() : 0;
      shares = false;
      break;
    case DecodingMode::kBlock:  // the last block is never added
      tokens = static_cast<uint64_t>((plan.open_end - 1) / plan.block_length) *
               static_cast<uint64_t>(plan.block_length);
      break;
    case DecodingMode::kAutoregressive:  // the last token is never added
      tokens = static_cast<uint64_t>(plan.open_end - 1);
      break;
  }
  if (tokens == 0) {
    return 0;
  }
  // A page that others also hold is copied before it is written to.
  const uint64_t pages = (tokens + kKvTileTokens - 1) / kKvTileTokens + (shares ? 1 : 0);
  return pages * (plan.options.guidance_scale > 0 ? 2 : 1);
}

absl::Status CheckMemory(const Plan& plan) {
  if (plan.prefixes == nullptr) {
    return absl::OkStatus();
  }
  const KvPool& pool = *plan.prefixes->pool();
  const uint64_t pages = MostPages(plan);
  if (pages <= pool.budget_pages()) {
    return absl::OkStatus();
  }
  const uint64_t page_bytes = pool.layout().page_bytes();
  return Error(absl::StatusCode::kInvalidArgument, reasons::kKvBudgetExceeded,
               "keys and values of this text may take {} bytes ({} pages of {} tokens), more than "
               "the {} of inference.kv_bytes; shorten the text, ask for fewer tokens or raise "
               "inference.kv_bytes",
               pages * page_bytes, pages, kKvTileTokens, pool.budget_pages() * page_bytes);
}

absl::StatusOr<std::unique_ptr<Generation>> Make(const Model& model, absl::StatusOr<Plan> plan,
                                                 Generation::AdapterPolicy adapters,
                                                 std::shared_ptr<PrefixTree> prefixes) {
  RETURN_IF_ERROR(plan.status());
  plan->prefixes = std::move(prefixes);
  RETURN_IF_ERROR(CheckMemory(*plan));
  switch (plan->mode) {
    case DecodingMode::kDiffusion:
      if (plan->options.approximate_cache_steps > 0) {
        return MakeApproximate(model, *std::move(plan), std::move(adapters));
      }
      return MakeDiffusion(model, *std::move(plan), std::move(adapters));
    case DecodingMode::kBlock:
      return MakeBlock(model, *std::move(plan), std::move(adapters));
    case DecodingMode::kAutoregressive:
      break;
  }
  return MakeAutoregressive(model, *std::move(plan), std::move(adapters));
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Model& model, std::vector<TokenId> canvas, bool infill,
                              const SamplingOptions& options) {
  RETURN_IF_ERROR(CheckSamplingRanges(options));
  Plan plan;
  plan.config = model.config();
  plan.options = options;
  plan.mode = options.mode.value_or(DefaultDecodingMode(plan.config, infill));
  RETURN_IF_ERROR(CheckContradictions(options, plan.mode));
  plan.rule = RuleOf(options, plan.mode);
  plan.block_length = options.block_length > 0              ? options.block_length
                      : options.approximate_cache_steps > 0 ? limits::kApproximateBlock
                                                            : plan.config.block_length;
  plan.mask = model.tokenizer().mask_id().value_or(kNoToken);
  if (!options.ignore_end_of_text) {
    for (const auto end : {model.tokenizer().eos_id(), model.tokenizer().end_of_turn_id()}) {
      if (end.has_value()) {
        plan.end_tokens.push_back(*end);
      }
    }
  }
  plan.canvas = std::move(canvas);
  RETURN_IF_ERROR(CheckMode(plan, infill));
  RETURN_IF_ERROR(CheckConstraint(plan, infill));
  RETURN_IF_ERROR(CheckCanvas(plan));
  FindBorders(&plan);
  return plan;
}

}  // namespace generation

DecodingMode DefaultDecodingMode(const ModelConfig& config, bool infill) {
  if (!TraitsOf(config.architecture).diffusion) {
    return DecodingMode::kAutoregressive;
  }
  // A block does not see the text after it, and a gap must fit that text.
  return config.block_length > 0 && !infill ? DecodingMode::kBlock : DecodingMode::kDiffusion;
}

absl::StatusOr<std::unique_ptr<Generation>> Generation::Create(
    const Model& model, std::vector<TokenId> prompt, const SamplingOptions& options,
    AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes) {
  RETURN_IF_ERROR(CheckSamplingRanges(options));
  const int tokens = options.max_tokens > 0 ? options.max_tokens : SamplingOptions().max_tokens;
  RETURN_IF_ERROR(
      generation::CheckLength(static_cast<int64_t>(prompt.size()), tokens, model.config().context));
  prompt.resize(prompt.size() + static_cast<size_t>(tokens), kNoToken);
  return generation::Make(model, generation::MakePlan(model, std::move(prompt), false, options),
                          std::move(adapters), std::move(prefixes));
}

absl::StatusOr<std::unique_ptr<Generation>> Generation::CreateInfill(
    const Model& model, std::vector<TokenId> canvas, const SamplingOptions& options,
    AdapterPolicy adapters, std::shared_ptr<PrefixTree> prefixes) {
  const auto open = std::count(canvas.begin(), canvas.end(), kNoToken);
  RETURN_IF_ERROR(generation::CheckLength(static_cast<int64_t>(canvas.size()) - open, open,
                                          model.config().context));
  return generation::Make(model, generation::MakePlan(model, std::move(canvas), true, options),
                          std::move(adapters), std::move(prefixes));
}

}  // namespace ruvd::inference
