// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/expert_trial.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/patterns/shared_expert.h"
#include "inference/adapter/talora_file.h"
#include "inference/reasons.h"
#include "node/serving/adapters_by_words.h"
#include "node/serving/experts.h"
#include "node/serving/prompt_tokens.h"
#include "node/serving/served_adapters.h"
#include "node/sharing/limits.h"
#include "node/sharing/trial_gain.h"

namespace ruvd::sharing {
namespace {

constexpr std::array<std::string_view, 6> kStandingNames = {
    "trial", "serving", "unusable", "texts_worse", "general_text_worse", "rated_badly"};

// Returns the tokens of the newest prompts of this node, newest first, each cut to its last
// limits::kMaxTrialTextTokens. Shorter ones than kMinTrialTextTokens say too little.
absl::StatusOr<std::vector<std::vector<inference::TokenId>>> NewestPrompts(
    const learning::LearningServices& services) {
  const inference::Model& model = services.transformer->model();
  std::vector<std::vector<inference::TokenId>> prompts;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        std::vector<inference::TokenId> tokens(trajectory.prompt_tokens.begin(),
                                               trajectory.prompt_tokens.end());
        if (tokens.empty()) {
          tokens = serving::PromptTokens(model, trajectory.prompt);
        }
        if (tokens.size() > limits::kMaxTrialTextTokens) {
          tokens.erase(tokens.begin(), tokens.end() - limits::kMaxTrialTextTokens);
        }
        if (tokens.size() >= limits::kMinTrialTextTokens) {
          prompts.push_back(std::move(tokens));
        }
        if (prompts.size() > 2 * limits::kMaxTrialPrompts) {
          prompts.erase(prompts.begin(), prompts.end() - limits::kMaxTrialPrompts);
        }
        return learning::CheckCancelled(services).ok();
      }));
  RETURN_IF_ERROR(learning::CheckCancelled(services));
  std::ranges::reverse(prompts);
  prompts.resize(std::min(prompts.size(), limits::kMaxTrialPrompts));
  return prompts;
}

// Returns whether the words of a text choose the last of the adapters.
bool ChoosesLast(const std::vector<serving::RangedPart>& parts,
                 const inference::ScoredDocument& text) {
  return serving::AdaptersByWords(parts, text.prompt)
             .Factors(text.completion, std::nullopt)
             .back() > 0;
}

}  // namespace

std::string_view ExpertStandingName(ExpertStanding standing) {
  return kStandingNames.at(static_cast<size_t>(standing));
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadExpertPayload(
    std::string_view payload, const inference::Model& model, const std::string& name) {
  ASSIGN_OR_RETURN(const federation::SharedExpert shared,
                   federation::DecodeSharedExpert(AsBytes(payload)));
  ASSIGN_OR_RETURN(const auto parsed,
                   inference::ParseTaloraFile(AsBytes(shared.file), model, name));
  if (!parsed->words) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterInvalid,
                 "{} does not say which words its lessons have, so nothing can choose it", name);
  }
  auto expert = std::make_shared<inference::Talora>(*parsed);
  expert->name = name;
  expert->version = shared.version;
  return expert;
}

absl::StatusOr<std::vector<JudgingText>> ExpertTrial::TextsOf(
    const learning::LearningServices& services, std::vector<serving::RangedPart> beneath,
    const serving::RangedPart& part, size_t* count) const {
  ASSIGN_OR_RETURN(std::vector<inference::ScoredDocument> texts,
                   ChooseEvaluationLessons(services, options_.min_rating));
  ASSIGN_OR_RETURN(const auto prompts, NewestPrompts(services));
  for (inference::ScoredDocument& prompt : DocumentsOf(prompts)) {
    texts.push_back(std::move(prompt));
  }
  beneath.push_back(part);
  std::erase_if(texts, [&beneath](const auto& text) { return !ChoosesLast(beneath, text); });
  std::vector<JudgingText> chosen = WithIds(std::move(texts));
  *count = chosen.size();
  // The order of the ids is as good as random.
  chosen.resize(std::min(chosen.size(), limits::kMaxTrialLessons));
  return chosen;
}

absl::Status ExpertTrial::JudgeByGeneralText(const learning::LearningServices& services,
                                             const std::vector<serving::RangedPart>& beneath,
                                             const serving::RangedPart& part,
                                             ExpertVerdict* verdict) {
  absl::Status yielded;
  const auto stop = [&] {
    yielded = learning::YieldBetweenPieces(services);
    return !yielded.ok();
  };
  const auto general = general_.Check(*services.transformer, part, stop, beneath);
  RETURN_IF_ERROR(yielded);
  RETURN_IF_ERROR(general.status());
  verdict->general_before = general->before;
  verdict->general_after = general->after;
  if (!general->pass) {
    verdict->standing = ExpertStanding::kGeneralTextWorse;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExpertVerdict> ExpertTrial::Judge(const learning::LearningServices& services,
                                                 const Digest& peer, std::string_view payload,
                                                 size_t former_texts) {
  ExpertVerdict verdict;
  const std::string name = serving::NameOfExpert(peer);
  const auto read = ReadExpertPayload(payload, services.transformer->model(), name);
  const auto evidence = read.ok() ? services.catalog->EvidenceOf(**read) : nullptr;
  if (evidence == nullptr) {
    verdict.why = read.ok() ? "this node's model comes without NAME.memory.gguf, which says how "
                              "often words occur in public text"
                            : MessageOf(read.status());
    return verdict;
  }
  verdict.adapter = *read;
  verdict.standing = ExpertStanding::kTrial;
  // A version that serves already must not be measured on top of itself.
  ASSIGN_OR_RETURN(const std::vector<serving::RangedPart> beneath,
                   serving::AdaptersBeside(name, services.catalog));
  const serving::RangedPart part{.adapter = verdict.adapter, .evidence = evidence};
  ASSIGN_OR_RETURN(const std::vector<JudgingText> texts,
                   TextsOf(services, beneath, part, &verdict.texts));
  if (verdict.texts < options_.least_texts || verdict.texts <= former_texts) {
    return verdict;
  }
  ASSIGN_OR_RETURN(const learning::PairedGain gain, GainOfPart(services, beneath, part, texts));
  verdict.scored = true;
  verdict.gain = gain.mean;
  verdict.standard_error = gain.standard_error;
  if (Harms(gain, options_.standard_errors)) {
    verdict.standing = ExpertStanding::kTextsWorse;
    return verdict;
  }
  if (gain.mean > gain.standard_error) {
    verdict.standing = ExpertStanding::kServing;
    RETURN_IF_ERROR(JudgeByGeneralText(services, beneath, part, &verdict));
  }
  return verdict;
}

}  // namespace ruvd::sharing
