// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/score_task.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/adapters_by_words.h"

namespace ruvd::serving {

bool ScoreTask::RunSlice(inference::Transformer& serving) {
  absl::StatusOr<ScoreAnswer> answer = Run(serving);
  if (absl::IsCancelled(answer.status())) {
    answer = Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                   "the node stopped before the score was done; send it to another node or ask for "
                   "fewer samples");
  }
  done_(std::move(answer));
  return true;
}

absl::StatusOr<ScoreAnswer> ScoreTask::Run(inference::Transformer& serving) {
  const inference::Model& model = exact_.model();
  const std::vector<inference::TokenId> prompt = PromptTokens(model, job_.prompt);
  const std::vector<inference::TokenId> completion =
      model.tokenizer().EncodeContinuation(job_.completion);
  ScoreAnswer answer;
  answer.tokens = static_cast<int>(completion.size());
  ChosenAdapters selection;
  if (job_.use_adapters) {
    // The serving transformer embeds the prompt, because the embeddings of stored completions come
    // from it.
    RETURN_IF_ERROR(held_.status());
    std::vector<float> embedding;
    if (adapters_.ReadsEmbedding()) {
      ASSIGN_OR_RETURN(embedding, inference::EmbedText(serving, prompt, whitening_));
    }
    ASSIGN_OR_RETURN(selection, adapters_.Choose(embedding, job_.adapters));
    if (embedding.empty() && selection.ReadsQuery()) {
      ASSIGN_OR_RETURN(selection.query, inference::EmbedText(serving, prompt, whitening_));
    }
  }
  // Each masking counts as one step, so that the same adapters act as in a completion at that t
  // with the same words.
  const std::span<const RangedPart> catalog =
      std::span<const RangedPart>(selection.parts).first(selection.from_catalog);
  const AdaptersByWords words(catalog, prompt);
  inference::AdapterMix mix;
  std::vector<float> acted(catalog.size());
  const auto mix_at = [&](const inference::ReadingStep& step) {
    const std::vector<float> factors = words.Factors(step.known, std::nullopt);
    std::ranges::transform(acted, factors, acted.begin(), std::ranges::max);
    mix = selection.WithFactors(factors).At(static_cast<float>(step.t));
    return &mix;
  };
  inference::ScoreOptions options = job_.options;
  options.mode =
      job_.mode.value_or(inference::DefaultDecodingMode(model.config(), /*infill=*/false));
  if (model.config().block_length > 0) {
    options.block_length = model.config().block_length;
  }
  std::unique_ptr<inference::MemoryReader> memory;
  if (memory_of_ && job_.use_memory) {
    memory = memory_of_(job_.user_id, options.mode == inference::DecodingMode::kAutoregressive);
    options.memory = memory.get();
  }
  ASSIGN_OR_RETURN(
      answer.nats_per_token,
      ScoreCompletion(exact_, prompt, completion, inference::AdaptersOfStep(mix_at), options));
  answer.adapters = selection.WithFactors(acted).uses;
  return answer;
}

bool EmbedTask::RunSlice(inference::Transformer& transformer) {
  const std::vector<inference::TokenId> tokens = PromptTokens(transformer.model(), text_);
  absl::StatusOr<std::vector<float>> embedding =
      inference::EmbedText(transformer, tokens, whitening_);
  if (!embedding.ok()) {
    done_(embedding.status());
    return true;
  }
  done_(EmbedAnswer{.embedding = *std::move(embedding), .tokens = static_cast<int>(tokens.size())});
  return true;
}

}  // namespace ruvd::serving
