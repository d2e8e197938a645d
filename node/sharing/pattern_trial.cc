// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/pattern_trial.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "inference/retrieval/prompt_embedding.h"
#include "node/log/log.h"
#include "node/serving/bank_range.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/judging_texts.h"
#include "node/sharing/limits.h"
#include "node/sharing/trial_gain.h"
#include "storage/similarity/cosine.h"

namespace ruvd::sharing {
namespace {

// Returns the adapter as it is served if its pattern alone is near: for its bank, or for all t if
// its bank is the first that a request searches.
absl::StatusOr<serving::RangedPart> PartOf(const learning::LearningServices& services,
                                           const storage::Pattern& pattern) {
  ASSIGN_OR_RETURN(const serving::PatternPayload payload,
                   serving::DecodePatternPayload(pattern.payload));
  ASSIGN_OR_RETURN(
      const std::shared_ptr<const inference::Adapter> adapter,
      serving::AdapterOfPattern(pattern, payload, services.transformer->model(), services.frame));
  if (adapter == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterInvalid,
                 "pattern {} has no adapter; its origin must train it again", ToHex(pattern.id));
  }
  const auto first = static_cast<uint32_t>(inference::BankOf(1));
  const serving::BankRange range =
      pattern.bank < first ? serving::RangeOfBanks(pattern.bank, pattern.bank + size_t{1})
                           : serving::BankRange();
  return serving::RangedPart{
      .adapter = inference::StaticTalora(adapter), .t_min = range.t_min, .t_max = range.t_max};
}

}  // namespace

absl::StatusOr<std::vector<JudgingText>> PatternTrial::LessonsNear(
    const learning::LearningServices& services, std::span<const float> centroid) {
  ASSIGN_OR_RETURN(std::vector<inference::ScoredDocument> texts,
                   ChooseEvaluationLessons(services, options_.min_rating));
  const std::map<Digest, std::vector<float>> former = std::exchange(embeddings_, {});
  std::vector<JudgingText> near;
  for (JudgingText& text : WithIds(std::move(texts))) {
    const auto known = former.find(text.id);
    std::vector<float> embedding;
    if (known != former.end()) {
      embedding = known->second;
    } else {
      RETURN_IF_ERROR(learning::YieldBetweenPieces(services));
      ASSIGN_OR_RETURN(embedding, inference::EmbedText(learning::EmbedderOf(services),
                                                       text.text.prompt, services.whitening));
    }
    const auto& kept = embeddings_.emplace(text.id, std::move(embedding)).first->second;
    if (near.size() == limits::kMaxTrialLessons ||
        storage::CosineSimilarity(kept, centroid).value_or(0) < options_.similarity) {
      continue;
    }
    near.push_back(std::move(text));
  }
  return near;
}

absl::Status PatternTrial::JudgeByGeneralText(const learning::LearningServices& services,
                                              const std::vector<serving::RangedPart>& beneath,
                                              const serving::RangedPart& part,
                                              std::span<const float> centroid,
                                              TrialVerdict* verdict) {
  absl::Status yielded;
  const auto stop = [&] {
    yielded = learning::YieldBetweenPieces(services);
    return !yielded.ok();
  };
  const auto check = [&](const learning::GeneralTextGate::Applies& applies) {
    return general_.Check(*services.transformer, {.adapter = part.adapter}, stop, beneath, applies);
  };
  const auto anywhere = check(nullptr);
  RETURN_IF_ERROR(yielded);
  RETURN_IF_ERROR(anywhere.status());
  verdict->general_before = anywhere->before;
  verdict->general_after = anywhere->after;
  // False for a loss that is not a number.
  bool pass = anywhere->after <= anywhere->before * (1 + options_.max_loss_anywhere);
  if (pass && !anywhere->pass) {
    const auto near =
        check([&](std::span<const inference::TokenId> tokens) -> absl::StatusOr<bool> {
          ASSIGN_OR_RETURN(
              const std::vector<float> embedding,
              inference::EmbedText(learning::EmbedderOf(services), tokens, services.whitening));
          return storage::CosineSimilarity(embedding, centroid).value_or(0) >= options_.own_kind;
        });
    RETURN_IF_ERROR(yielded);
    RETURN_IF_ERROR(near.status());
    pass = near->pass;
  }
  verdict->standing =
      pass ? storage::PatternStanding::kServing : storage::PatternStanding::kGeneralTextWorse;
  return absl::OkStatus();
}

absl::StatusOr<TrialVerdict> PatternTrial::Judge(const learning::LearningServices& services,
                                                 const storage::Pattern& pattern) {
  TrialVerdict verdict;
  const absl::StatusOr<serving::RangedPart> part = PartOf(services, pattern);
  if (ReasonOf(part.status()) == reasons::kFrameMismatch) {
    return part.status();  // it is of use again once the node has its former frame
  }
  if (!part.ok()) {
    LogWarning("a peer's pattern {} cannot be used: {}", ToHex(pattern.id),
               MessageOf(part.status()));
    return verdict;
  }
  ASSIGN_OR_RETURN(const std::vector<JudgingText> lessons,
                   LessonsNear(services, pattern.embedding));
  std::vector<serving::RangedPart> beneath;
  if (services.catalog != nullptr) {
    ASSIGN_OR_RETURN(beneath, services.catalog->Choose({}));
  }
  verdict.lessons = lessons.size();
  if (!lessons.empty()) {
    ASSIGN_OR_RETURN(const learning::PairedGain gain,
                     GainOfPart(services, beneath, *part, lessons));
    verdict.gain = gain.mean;
    verdict.standard_error = gain.standard_error;
    if (Harms(gain, options_.standard_errors)) {
      verdict.standing = storage::PatternStanding::kLessonsWorse;
      return verdict;
    }
  }
  RETURN_IF_ERROR(JudgeByGeneralText(services, beneath, *part, pattern.embedding, &verdict));
  return verdict;
}

}  // namespace ruvd::sharing
