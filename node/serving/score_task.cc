// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/score_task.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::serving {

bool ScoreTask::RunSlice(inference::Transformer& serving) {
  const absl::StatusOr<bool> complete = Step(serving);
  if (complete.ok() && !*complete) {
    return false;
  }
  if (complete.ok()) {
    done_(ScoreAnswer{.nats_per_token = score_->nats_per_token(),
                      .tokens = tokens_,
                      .adapters = selection_.WithFactors(acted_).uses});
  } else if (absl::IsCancelled(complete.status())) {
    done_(Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                "the node stopped before the score was done; send it to another node or ask for "
                "fewer samples"));
  } else {
    done_(complete.status());
  }
  return true;
}

bool ScoreTask::EndIfCancelled() {
  const bool unwanted = job_.unwanted && job_.unwanted();
  if (unwanted) {
    done_(Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                "the caller cancelled the score, its deadline passed, or it took longer than the "
                "node allows; allow more time or ask for fewer samples"));
  }
  return unwanted;
}

absl::StatusOr<bool> ScoreTask::Step(inference::Transformer& serving) {
  if (!score_) {
    RETURN_IF_ERROR(Begin(serving));
  }
  return score_->Step(exact_,
                      [this](const inference::ReadingStep& step) { return AdaptersAt(step); });
}

absl::Status ScoreTask::Begin(inference::Transformer& serving) {
  const inference::Model& model = exact_.model();
  prompt_ = PromptTokens(model, job_.prompt);
  const std::vector<inference::TokenId> completion =
      model.tokenizer().EncodeContinuation(job_.completion);
  tokens_ = static_cast<int>(completion.size());
  RETURN_IF_ERROR(ChooseAdapters(serving));
  inference::ScoreOptions options = job_.options;
  options.mode =
      job_.mode.value_or(inference::DefaultDecodingMode(model.config(), /*infill=*/false));
  if (model.config().block_length > 0) {
    options.block_length = model.config().block_length;
  }
  if (memory_of_ && job_.use_memory) {
    memory_ = memory_of_(job_.user_id, options.mode == inference::DecodingMode::kAutoregressive);
    options.memory = memory_.get();
  }
  ASSIGN_OR_RETURN(score_, inference::StepwiseScore::Begin(model, prompt_, completion, options));
  return absl::OkStatus();
}

absl::Status ScoreTask::ChooseAdapters(inference::Transformer& serving) {
  if (job_.use_adapters) {
    // The serving transformer embeds the prompt, because the embeddings of stored completions come
    // from it.
    RETURN_IF_ERROR(held_.status());
    std::vector<float> embedding;
    if (adapters_.ReadsEmbedding()) {
      ASSIGN_OR_RETURN(embedding, inference::EmbedText(serving, prompt_, whitening_));
    }
    ASSIGN_OR_RETURN(selection_, adapters_.Choose(embedding, job_.adapters));
    if (embedding.empty() && selection_.ReadsQuery()) {
      ASSIGN_OR_RETURN(selection_.query, inference::EmbedText(serving, prompt_, whitening_));
    }
  }
  words_.emplace(std::span<const RangedPart>(selection_.parts).first(selection_.from_catalog),
                 prompt_);
  acted_.assign(selection_.from_catalog, 0.0F);
  return absl::OkStatus();
}

// Each masking counts as one step, so that the same adapters act as in a completion at that t with
// the same words.
const inference::AdapterMix* ScoreTask::AdaptersAt(const inference::ReadingStep& step) {
  using Words = std::span<const inference::TokenId>;
  const std::vector<float> factors =
      words_->Factors(written_words_choose_ ? Words(step.known) : Words(), std::nullopt);
  std::ranges::transform(acted_, factors, acted_.begin(), std::ranges::max);
  mix_ = selection_.WithFactors(factors).At(static_cast<float>(step.t));
  return &mix_;
}

bool EmbedTask::EndIfCancelled() {
  const bool unwanted = job_.unwanted && job_.unwanted();
  if (unwanted) {
    Fail(Error(absl::StatusCode::kCancelled, reasons::kCancelled,
               "the caller cancelled the embedding, or its deadline passed before its turn came; "
               "allow more time"));
  }
  return unwanted;
}

void EmbedTask::Fail(const absl::Status& status) {
  answer_.status = status;
  done_(std::move(answer_));
}

bool EmbedTask::RunSlice(inference::Transformer& transformer) {
  const std::string& text = job_.texts[answer_.texts.size()];
  const std::vector<inference::TokenId> tokens = PromptTokens(transformer.model(), text);
  absl::StatusOr<std::vector<float>> embedding =
      inference::EmbedText(transformer, tokens, whitening_);
  if (!embedding.ok()) {
    Fail(embedding.status());
    return true;
  }
  answer_.texts.push_back(
      {.embedding = *std::move(embedding), .tokens = static_cast<int>(tokens.size())});
  const bool is_whole = answer_.texts.size() == job_.texts.size();
  if (is_whole) {
    done_(std::move(answer_));
  }
  return is_whole;
}

}  // namespace ruvd::serving
