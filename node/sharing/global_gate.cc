// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/global_gate.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "inference/retrieval/prompt_embedding.h"
#include "node/learning/general_text.h"
#include "node/learning/paired_losses.h"
#include "node/serving/served_adapters.h"
#include "node/sharing/judging_texts.h"
#include "node/sharing/trial_gain.h"

namespace ruvd::sharing {
namespace {

// Maskings of all passages together, and the least number for one, as in GeneralTextGate.
constexpr size_t kPassageDraws = 12;
constexpr size_t kLeastPassageDraws = 3;

// Finds the adapters that act beside the global one.
class BesideGlobal {
 public:
  explicit BesideGlobal(const learning::LearningServices& services) : services_(services) {}

  absl::StatusOr<std::vector<serving::RangedPart>> All() const {
    return services_.catalog == nullptr
               ? std::vector<serving::RangedPart>()
               : serving::AdaptersBeside(serving::kGlobalAdapter, services_.catalog);
  }
  // Returns a hash of a text and the adapters beside the global one.
  Digest IdOf(const Digest& text, std::span<const serving::RangedPart> parts) {
    ByteWriter bytes;
    bytes.WriteBytes(text);
    for (const serving::RangedPart& part : parts) {
      const auto [known, fresh] = ids_.try_emplace(part.adapter);
      if (fresh) {
        known->second = inference::AdapterId(*part.adapter);
      }
      bytes.WriteBytes(known->second).Write(part.weight).Write(part.t_min).Write(part.t_max);
    }
    return Sha256(bytes.str());
  }

 private:
  const learning::LearningServices& services_;
  std::map<std::shared_ptr<const inference::Talora>, Digest> ids_;  // hashed once for all texts
};

}  // namespace

absl::StatusOr<std::vector<JudgingDocument>> GlobalGate::DocumentsOfTexts(
    const learning::LearningServices& services, std::vector<inference::ScoredDocument> texts) {
  BesideGlobal beside(services);
  ASSIGN_OR_RETURN(const std::vector<serving::RangedPart> parts, beside.All());
  std::vector<JudgingDocument> documents;
  for (JudgingText& text : WithIds(std::move(texts))) {
    const Digest id = beside.IdOf(text.id, parts);
    documents.push_back({.text = std::move(text.text), .beside = parts, .id = id});
  }
  return documents;
}

absl::Status GlobalGate::JudgeByGeneralText(
    const learning::LearningServices& services,
    const std::shared_ptr<const inference::Talora>& candidate, GlobalVerdict* verdict) {
  ASSIGN_OR_RETURN(
      const std::vector<JudgingDocument> passages,
      DocumentsOfTexts(
          services,
          DocumentsOf(options_.general.empty()
                          ? learning::BuiltInPassages(services.transformer->model()).measured
                          : options_.general)));
  const auto draws = static_cast<int>(
      std::max(kLeastPassageDraws, kPassageDraws / std::max<size_t>(1, passages.size())));
  ASSIGN_OR_RETURN(const std::vector<double> before,
                   scores_.LossesOf(services, nullptr, passages, draws));
  ASSIGN_OR_RETURN(const std::vector<double> after,
                   scores_.LossesOf(services, candidate, passages, draws));
  verdict->general_before = learning::MeanLoss(before);
  verdict->general_after = learning::MeanLoss(after);
  // False for a loss that is not a number.
  verdict->serve =
      verdict->general_after <= verdict->general_before * (1 + options_.max_general_loss);
  return absl::OkStatus();
}

absl::Status GlobalGate::JudgeByLessons(const learning::LearningServices& services,
                                        const std::shared_ptr<const inference::Talora>& served,
                                        const std::shared_ptr<const inference::Talora>& candidate,
                                        GlobalVerdict* verdict) {
  ASSIGN_OR_RETURN(std::vector<inference::ScoredDocument> texts,
                   ChooseEvaluationLessons(services, options_.min_rating));
  ASSIGN_OR_RETURN(const std::vector<JudgingDocument> lessons,
                   DocumentsOfTexts(services, std::move(texts)));
  verdict->lessons = lessons.size();
  verdict->judged_by_lessons = !lessons.empty() && lessons.size() >= options_.least_documents;
  if (!verdict->judged_by_lessons) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<double> none,
                   scores_.LossesOf(services, nullptr, lessons, kLessonDraws));
  ASSIGN_OR_RETURN(const std::vector<double> before,
                   scores_.LossesOf(services, served, lessons, kLessonDraws));
  ASSIGN_OR_RETURN(const std::vector<double> after,
                   scores_.LossesOf(services, candidate, lessons, kLessonDraws));
  const learning::PairedGain gain = learning::GainOf(before, after);
  const learning::PairedGain over_none = learning::GainOf(none, after);
  verdict->gain = gain.mean;
  verdict->standard_error = gain.standard_error;
  verdict->gain_over_none = over_none.mean;
  verdict->standard_error_over_none = over_none.standard_error;
  verdict->serve = verdict->serve && !Harms(gain, options_.standard_errors) &&
                   !Harms(over_none, options_.standard_errors);
  return absl::OkStatus();
}

absl::StatusOr<GlobalVerdict> GlobalGate::Judge(
    const learning::LearningServices& services,
    const std::shared_ptr<const inference::Talora>& served,
    const std::shared_ptr<const inference::Talora>& candidate) {
  RUVD_CHECK(candidate != nullptr);
  scores_.Begin();
  GlobalVerdict verdict;
  RETURN_IF_ERROR(JudgeByGeneralText(services, candidate, &verdict));
  RETURN_IF_ERROR(JudgeByLessons(services, served, candidate, &verdict));
  return verdict;
}

}  // namespace ruvd::sharing
