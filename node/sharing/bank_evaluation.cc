// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/bank_evaluation.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "federation/daf/bank_alignment.h"
#include "inference/evaluate/nelbo.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/paired_losses.h"
#include "node/learning/text_lessons.h"
#include "node/limits.h"
#include "storage/lessons/lesson_store.h"

namespace ruvd::sharing {
namespace {

// Mask draws per document: enough that each of a few banks gets some.
constexpr int kEvaluationDraws = 6;

Digest IdOfText(const inference::ScoredDocument& text) {
  ByteWriter bytes;
  bytes.Write(static_cast<uint64_t>(text.prompt.size()));
  for (const std::vector<inference::TokenId>* tokens : {&text.prompt, &text.completion}) {
    for (const inference::TokenId token : *tokens) {
      bytes.Write(token);
    }
  }
  return Sha256(bytes.str());
}

bool AreZero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

double SumOfNats(const auto& parts) {
  double sum = 0;
  for (const auto& part : parts) {
    sum += part.nats;
  }
  return sum;
}

// Returns the rise from `before` to `after` as a share of `before`.
double LossOf(double before, double after) {
  return before > 0 ? after / before - 1 : 0;
}

}  // namespace

absl::StatusOr<std::vector<inference::ScoredDocument>> ChooseEvaluationLessons(
    const learning::LearningServices& services, float min_rating) {
  std::deque<std::string> newest;
  RETURN_IF_ERROR(
      services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if (learning::IsEvaluationLesson(trajectory.response_id) &&
            !learning::TargetText(trajectory, min_rating).empty() &&
            !learning::IsExcludedFromLearning(services, trajectory)) {
          newest.push_back(trajectory.response_id);
          if (newest.size() > limits::kMaxEvaluationLessons) {
            newest.pop_front();
          }
        }
        return CheckCancelled(services).ok();
      }));
  if (services.lessons != nullptr) {
    RETURN_IF_ERROR(services.lessons->ForEachEntry([&](const storage::LessonEntry& entry) {
      std::string name = learning::NameOfTextLesson(entry.id);
      const bool room = newest.size() < limits::kMaxEvaluationLessons;
      if (room && learning::IsEvaluationLesson(name)) {
        newest.push_back(std::move(name));
      }
      return room && CheckCancelled(services).ok();
    }));
  }
  RETURN_IF_ERROR(CheckCancelled(services));
  std::vector<inference::ScoredDocument> documents;
  for (const std::string& name : newest) {
    ASSIGN_OR_RETURN(const std::optional<learning::Lesson> lesson,
                     learning::ReadLesson(services, name, min_rating));
    if (!lesson) {
      continue;
    }
    const learning::Lesson* const one = &*lesson;
    inference::TrainingExample example = std::move(
        learning::MakeExamples(services.transformer->model(), std::span(&one, 1)).front());
    if (!example.completion.empty()) {
      documents.push_back(
          {.prompt = std::move(example.prompt), .completion = std::move(example.completion)});
    }
  }
  return documents;
}

std::vector<inference::ScoredDocument> DocumentsOf(
    const std::vector<std::vector<inference::TokenId>>& passages) {
  std::vector<inference::ScoredDocument> documents;
  for (const std::vector<inference::TokenId>& passage : passages) {
    documents.push_back(
        {.prompt = {passage.front()}, .completion = {std::next(passage.begin()), passage.end()}});
  }
  return documents;
}

std::vector<JudgingText> WithIds(std::vector<inference::ScoredDocument> texts) {
  std::vector<JudgingText> documents;
  for (inference::ScoredDocument& text : texts) {
    const Digest id = IdOfText(text);
    documents.push_back({.id = id, .text = std::move(text)});
  }
  // No document may count twice.
  std::ranges::sort(documents, {}, &JudgingText::id);
  const auto repeated = std::ranges::unique(documents, {}, &JudgingText::id);
  documents.erase(repeated.begin(), repeated.end());
  return documents;
}

void BankEvaluation::SetTexts(std::vector<inference::ScoredDocument> lessons,
                              std::vector<inference::ScoredDocument> general) {
  lessons_ = WithIds(std::move(lessons));
  general_ = WithIds(std::move(general));
  std::set<Digest> known;
  for (const auto* documents : {&lessons_, &general_}) {
    for (const JudgingText& document : *documents) {
      known.insert(document.id);
    }
  }
  for (auto& [bank, parts] : scored_) {
    std::erase_if(parts, [&known](const auto& part) { return !known.contains(part.first); });
  }
  std::erase_if(scored_, [](const auto& bank) { return bank.second.empty(); });
}

void BankEvaluation::DropTexts() {
  lessons_.clear();
  general_.clear();
}

Digest BankEvaluation::KeyOf(size_t bank, std::span<const float> values) const {
  ByteWriter bytes;
  bytes.Write(static_cast<uint64_t>(bank));
  bytes.WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
  return Sha256(bytes.str());
}

bool BankEvaluation::HasScored(const federation::BankedValues& candidate) const {
  for (size_t bank = 0; bank < candidate.size(); ++bank) {
    if (AreZero(candidate[bank])) {
      continue;  // is served anyway if nothing else is served
    }
    const auto found = scored_.find(KeyOf(bank, candidate[bank]));
    if (found == scored_.end() || !std::ranges::all_of(lessons_, [&](const JudgingText& document) {
          return found->second.contains(document.id);
        })) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<BankEvaluation::Part> BankEvaluation::ScoreOne(
    const learning::LearningServices& services, size_t bank, const inference::AdapterMix* mix,
    const JudgingText& document) const {
  std::vector<inference::TokenId> tokens = document.text.prompt;
  tokens.insert(tokens.end(), document.text.completion.begin(), document.text.completion.end());
  const inference::ScoredText text{.tokens = tokens, .first = document.text.prompt.size()};
  uint64_t seed = 0;
  std::memcpy(&seed, document.id.data(), sizeof(seed));
  Part part;
  std::vector<double> nats;
  for (const inference::Corruption& corruption :
       inference::DrawCorruptions(inference::SpansOf(text, 0), kEvaluationDraws, seed)) {
    const double share =
        static_cast<double>(corruption.masked.size()) / static_cast<double>(corruption.length);
    if (federation::BankAt(layout_.boundaries, static_cast<float>(share)) != bank) {
      continue;
    }
    RETURN_IF_ERROR(learning::YieldBetweenPieces(services));
    nats.assign(corruption.masked.size(), 0.0);
    RETURN_IF_ERROR(inference::ScoreMasked(*services.transformer, text, corruption, 0, mix, nats));
    part.nats += inference::WeightedNats(corruption, nats) / kEvaluationDraws;
    ++part.draws;
  }
  return part;
}

absl::StatusOr<BankEvaluation::Parts> BankEvaluation::Score(
    const learning::LearningServices& services, size_t bank, const std::vector<float>& values,
    std::span<const JudgingText> documents) {
  if (scored_.size() >= limits::kMaxRememberedBanks) {
    scored_.clear();
  }
  inference::AdapterMix mix;
  if (!AreZero(values)) {
    ASSIGN_OR_RETURN(std::shared_ptr<const inference::Adapter> adapter,
                     inference::AdapterFromCore(*layout_.frame, values, "judged", 1, 1.0F));
    mix.parts.push_back({.adapter = std::move(adapter)});
  }
  std::map<Digest, Part>& known = scored_[KeyOf(bank, values)];
  Parts parts;
  for (const JudgingText& document : documents) {
    auto found = known.find(document.id);
    if (found == known.end()) {
      ASSIGN_OR_RETURN(const Part part,
                       ScoreOne(services, bank, mix.empty() ? nullptr : &mix, document));
      found = known.emplace(document.id, part).first;
    }
    parts.push_back(found->second);
  }
  return parts;
}

absl::StatusOr<federation::BankScore> BankEvaluation::Gain(
    const learning::LearningServices& services, size_t bank, const std::vector<float>& served,
    const std::vector<float>& candidate) {
  federation::BankScore score;
  if (served == candidate) {
    return score;
  }
  ASSIGN_OR_RETURN(const Parts before, Score(services, bank, served, lessons_));
  ASSIGN_OR_RETURN(const Parts after, Score(services, bank, candidate, lessons_));
  std::vector<double> nats_before;
  std::vector<double> nats_after;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].draws > 0) {
      nats_before.push_back(before[i].nats);
      nats_after.push_back(after[i].nats);
    }
  }
  const learning::PairedGain gain = learning::GainOf(nats_before, nats_after);
  score.documents = nats_before.size();
  score.gain = gain.mean;
  score.standard_error = gain.standard_error;
  return score;
}

absl::StatusOr<federation::ShadowScore> BankEvaluation::CompareOnLessons(
    const learning::LearningServices& services, const federation::BankedValues& served,
    const federation::BankedValues& candidate) {
  federation::ShadowScore score;
  for (size_t bank = 0; bank < candidate.size(); ++bank) {
    ASSIGN_OR_RETURN(score.banks.emplace_back(),
                     Gain(services, bank, served[bank], candidate[bank]));
  }
  return score;
}

absl::StatusOr<federation::ShadowScore> BankEvaluation::Compare(
    const learning::LearningServices& services, const federation::BankedValues& served,
    const federation::BankedValues& candidate) {
  ASSIGN_OR_RETURN(federation::ShadowScore score, CompareOnLessons(services, served, candidate));
  double frozen_nats = 0;
  double nats = 0;
  for (size_t bank = 0; bank < candidate.size(); ++bank) {
    const std::vector<float> zeros(candidate[bank].size());
    ASSIGN_OR_RETURN(const Parts frozen, Score(services, bank, zeros, general_));
    ASSIGN_OR_RETURN(const Parts with, Score(services, bank, candidate[bank], general_));
    score.banks[bank].general_loss = LossOf(SumOfNats(frozen), SumOfNats(with));
    frozen_nats += SumOfNats(frozen);
    nats += SumOfNats(with);
  }
  score.general_loss = LossOf(frozen_nats, nats);
  return score;
}

}  // namespace ruvd::sharing
